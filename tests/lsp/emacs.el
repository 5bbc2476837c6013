;;; emacs.el --- A session in Emacs' own client  -*- lexical-binding: t -*-
;; Set up as docs/editors.md says: open a broken kernel, see the diagnostic, apply its fix, see it
;; gone, let a shape of a kernel be completed, save. Environment: SETUP, FILE, TITLE. What was seen
;; goes to standard output as JSON.

(load (getenv "SETUP") nil t)
(require 'json)

(defun wait-for (what condition)
  "Wait until CONDITION returns something, and return it; WHAT says what is waited for."
  (let ((end (+ (float-time) 60)) found)
    (while (and (not (setq found (funcall condition))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or found (error "Never came: %s" what))))

(defun problems ()
  "Ask Flymake to look again, as it does when Emacs is idle, and return what it has."
  (flymake-start)
  (flymake-diagnostics))

(setq eglot-sync-connect 60
      eglot-autoshutdown t
      make-backup-files nil)
(find-file (getenv "FILE"))
(unless (derived-mode-p 'python-mode) (python-mode))
(call-interactively #'eglot)

(let* ((found (wait-for "a diagnostic" #'problems))
       (first (car found))
       (text (flymake-diagnostic-text first))
       (at (flymake-diagnostic-beg first))
       (line (1- (line-number-at-pos at)))
       (column (progn (goto-char at) (- at (line-beginning-position))))
       shape)
  (cl-letf ((last-nonmenu-event ?\r) ; by keyboard: there is no menu to open
            ((symbol-function 'completing-read) (lambda (&rest _) (getenv "TITLE"))))
    (eglot-code-actions at (flymake-diagnostic-end first) nil t))
  (save-buffer) ; what was changed is sent when Emacs is idle, and with a save
  (wait-for "the end of the diagnostic" (lambda () (not (problems))))

  ;; Emacs alone expands no snippets, so the shape comes as plain text, indented.
  (goto-char (point-max))
  (insert "        tirx_tmem_dealloc")
  (completion-at-point)
  (setq shape (buffer-substring-no-properties (line-beginning-position -7) (point-max)))
  (set-buffer-modified-p nil)

  (let ((server (eglot-current-server)))
    (eglot-shutdown server)
    (princ (json-encode `((count . ,(length found)) (text . ,text) (line . ,line)
                          (column . ,column) (shape . ,shape)
                          (running . ,(if (jsonrpc-running-p server) t :json-false)))))
    (terpri)))
;;; emacs.el ends here

-- A session in Neovim's own client, set up as docs/editors.md says: open a broken kernel, see the
-- diagnostic, apply its fix, see it gone, save. Environment: SETUP, FILE, TITLE. What was seen goes to
-- standard output as JSON.
local seen = {}

local function fail(message)
  io.stderr:write(message .. '\n')
  vim.cmd('cquit 1')
end

local function wait(what, condition)
  if not vim.wait(20000, condition, 10) then
    fail('never came: ' .. what)
  end
end

vim.cmd('filetype on')
dofile(os.getenv('SETUP'))
vim.cmd.edit(os.getenv('FILE'))
local buffer = vim.api.nvim_get_current_buf()

wait('a diagnostic', function()
  return #vim.diagnostic.get(buffer) > 0
end)
local client = vim.lsp.get_clients({ bufnr = buffer })[1]
seen.encoding = client.offset_encoding
seen.diagnostics = vim.tbl_map(function(d)
  return { line = d.lnum, column = d.col, code = d.code, source = d.source, severity = d.severity }
end, vim.diagnostic.get(buffer))

local first = vim.diagnostic.get(buffer)[1]
vim.api.nvim_win_set_cursor(0, { first.lnum + 1, first.col })
vim.lsp.buf.code_action({
  apply = true,
  filter = function(action)
    return action.title == os.getenv('TITLE')
  end,
})
wait('the end of the diagnostic', function()
  return #vim.diagnostic.get(buffer) == 0
end)
vim.cmd('silent write')

client:stop()
wait('the end of the server', function()
  return client:is_stopped()
end)
io.stdout:write(vim.json.encode(seen) .. '\n')
vim.cmd('quitall!')

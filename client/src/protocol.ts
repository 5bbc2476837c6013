/** The messages between this extension and the server that LSP itself does not have. */
import { NotificationType, NotificationType0, RequestType } from "vscode-languageclient/node";
import type { Position } from "vscode-languageclient/node";
import type { Timeline, Why } from "./timeline/view/model";

/** What a kernel's builder is called with: Python expressions by parameter name. */
export type Arguments = Readonly<Record<string, string>>;

/** What was asked for a builder last, so that a build on a save is the same one. */
export type Choice = Pick<CudaParams, "textDocument" | "builder" | "config" | "argumentSet" | "answers" | "arch"> & {
  /** Goes before what the source and its project name, until it is given back. */
  readonly arguments?: Arguments;
};

/** What the server is told when it starts. Without `trusted` it executes nothing. */
export interface InitializationOptions {
  readonly trusted: boolean;
  /** The commands of code lenses that are carried out here. */
  readonly commands: readonly string[];
  readonly choices: readonly Choice[];
  /** The target that builds, and what was confirmed of this workspace's targets. */
  readonly targets: { readonly chosen: string; readonly confirmed: readonly string[] };
  /** By their names without the section; `interpreter` is the one that was chosen. */
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface ServerStatus {
  readonly state: "ready" | "building" | "failed";
  readonly interpreter: string;
  readonly tvmVersion: string | null;
  readonly message: string;
  /** The name of the chosen target. */
  readonly target: string;
}

/** Which TVM a document is held against. */
export interface FileVersion {
  readonly uri: string;
  readonly version: string;
  readonly origin: "configuration" | "interpreter" | "target" | "spelling";
  /** What is to know of both, in a line that follows the version. */
  readonly detail: string;
}

export interface CudaParams {
  readonly textDocument: { readonly uri: string };
  readonly position?: Position;
  readonly builder?: string;
  /** What the user said when asked; counts for what the source and its project do not name. */
  readonly answers?: Arguments;
  /** The architecture to build for, where it is not that of the settings. */
  readonly arch?: string;
  /** Which configuration of a registered kernel; without one it is the first. */
  readonly config?: string;
  /** Which of the argument sets that comments and the project give; by its label. */
  readonly argumentSet?: string;
  /** Whether PTX, SASS and the compiler's report are wanted too. */
  readonly machineCode?: boolean;
  /** Under which the server reports what the build is doing. */
  readonly workDoneToken?: string;
}

export interface Parameter {
  readonly name: string;
  /** The Python text of its default; absent where it has none. */
  readonly default?: string;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

/** A statement in the user's sources, or the header of a compound one; lines count from 0. */
export interface Frame {
  readonly uri: string;
  readonly line: number;
  readonly endLine: number;
}

/** The Python that one line of CUDA came from, outermost call first. */
export interface Link {
  readonly line: number;
  readonly frames: readonly Frame[];
  readonly via: string;
  /** The place is that of a neighbour, not of the line itself. */
  readonly guessed: boolean;
}

/** An entry of the outline of a CUDA text. */
export interface Mark {
  readonly kind: "kernel" | "role" | "loop" | "operation";
  readonly title: string;
  readonly detail: string;
  readonly range: Range;
  readonly children: readonly Mark[];
}

/** A device function that generated code calls, and the PTX it wraps. */
export interface Helper {
  readonly name: string;
  readonly ptx: string;
}

/** What is wrong in a CUDA text. */
export interface CudaFinding {
  readonly code: string;
  readonly url: string;
  readonly severity: "error" | "warning" | "information" | "hint";
  readonly message: string;
  readonly range: Range;
  readonly related: readonly { readonly range: Range; readonly message: string }[];
}

/** One line of the resource panel. */
export interface Fact {
  readonly name: string;
  readonly value: string;
  /** Where the figure is from, or what it means. */
  readonly note: string;
}

export interface Resources {
  readonly kernel: string;
  /** The few facts that fit behind the kernel's head. */
  readonly summary: string;
  readonly facts: readonly Fact[];
}

/** PTX or SASS; `lines` has for each line that of the CUDA it came from, or null. */
export interface Code {
  readonly text: string;
  readonly lines: readonly (number | null)[];
}

export interface Machine {
  readonly compiler: string;
  /** Why there is no code; null where there is. */
  readonly problem: string | null;
  readonly detail: string;
  readonly ptx: Code;
  readonly sass: Code;
}

export interface Cuda {
  readonly kind: "cuda";
  readonly title: string;
  readonly text: string;
  readonly map: readonly Link[];
  /** The line on which the first kernel begins. */
  readonly preambleLine: number;
  readonly outline: readonly Mark[];
  readonly helpers: readonly Helper[];
  readonly findings: readonly CudaFinding[];
  readonly resources: readonly Resources[];
  /** Null where it was not asked for. */
  readonly machine: Machine | null;
  /** What is missing, each in a sentence: a line map that could not be made. */
  readonly notes: readonly string[];
  readonly kernel: string;
  readonly builder: string;
  readonly arguments: Arguments;
  readonly tvmVersion: string;
  readonly target: string;
  /** The label of a registered kernel's configuration; null for other kernels. */
  readonly config: string | null;
  /** The label of the set that the arguments are; null where nothing gives any. */
  readonly argumentSet: string | null;
}

export interface NeedArguments {
  readonly kind: "needArguments";
  readonly builder: string;
  readonly parameters: readonly Parameter[];
}

export interface Choose {
  readonly kind: "choose";
  readonly builders: readonly string[];
}

/** A registered kernel has several configurations, and none was named. */
export interface ChooseConfig {
  readonly kind: "chooseConfig";
  readonly builder: string;
  readonly configs: readonly string[];
}

/** A builder is given several sets of arguments, and none was named. */
export interface ChooseArguments {
  readonly kind: "chooseArguments";
  readonly builder: string;
  readonly sets: readonly { readonly label: string; readonly arguments: Arguments }[];
}

export interface Failed {
  readonly kind: "failed";
  readonly message: string;
  readonly detail: string;
  readonly file?: string;
  /** Counted from 0, as are columns. */
  readonly line?: number;
  readonly column?: number;
  /** The document of that place, where it is no file: a cell of a notebook. */
  readonly uri?: string;
  /** The document with the whole message, where the server has one. */
  readonly document?: string;
  /** What was built. */
  readonly builder?: string;
  /** The same build may go well another time: a host did not answer. */
  readonly canRetry?: boolean;
}

export interface TargetsParams {
  /** The document whose project's targets are meant; without it, those of the first folder. */
  readonly textDocument?: { readonly uri: string };
}

export interface TargetEntry {
  readonly name: string;
  /** Where it is, in a line. */
  readonly summary: string;
  readonly origin: "built-in" | "settings" | "project";
  /** False for a project's target that the user has not confirmed as it is now. */
  readonly usable: boolean;
}

export interface TargetList {
  readonly kind: "targets";
  readonly chosen: string;
  readonly targets: readonly TargetEntry[];
}

export interface ChooseTargetParams extends TargetsParams {
  readonly name: string;
  /** The fingerprint of the project's targets that the user has been shown and agreed to. */
  readonly confirmed?: string;
}

/** The user is to be shown the project's targets before the one of this name is used. */
export interface ConfirmTarget {
  readonly kind: "confirmTarget";
  readonly name: string;
  readonly fingerprint: string;
  /** All of them in full, in printable ASCII. */
  readonly text: string;
  readonly message: string;
  /** A document with the text, where the server has one. */
  readonly document?: string;
}

export interface DoctorReport {
  readonly kind: "doctor";
  readonly text: string;
  /** A document with the text, where the server has one. */
  readonly document?: string;
}

export interface TimelineParams {
  readonly textDocument: { readonly uri: string };
  readonly position?: Position;
  /** The name of a kernel; wins over the builder, and that over the position. */
  readonly kernel?: string;
  readonly builder?: string;
}

/** How the handoffs of one kernel run. */
export interface KernelTimeline {
  readonly kind: "timeline";
  /** What the timeline's places call the document itself. */
  readonly file: string;
  readonly kernels: readonly string[];
  readonly chosen: number;
  /** The text has syntax errors, which may have cost kernels or parts of them. */
  readonly hasErrors: boolean;
  readonly timeline: Timeline | null;
  readonly why: Why | null;
}

export type TimelineResult = KernelTimeline | Failed;

export type CudaResult = Cuda | NeedArguments | Choose | ChooseConfig | ChooseArguments | ConfirmTarget | Failed;

export interface WorksheetParams {
  readonly textDocument: { readonly uri: string };
  /** Where the kernel is; without it or a builder, all kernels of the document. */
  readonly position?: Position;
  readonly builder?: string;
}

/** A page about a document as Markdown; links are `PATH#L12` with lines from 1. */
export interface Page {
  readonly kind: "page";
  readonly title: string;
  /** The path that links to the document itself have. */
  readonly path: string;
  readonly markdown: string;
}

/** How a mistake shows; the server knows the same ones. */
export type Symptom = "deadlock" | "crash" | "wrong-rows" | "nan" | "slow" | "build";

export interface SuspectsParams {
  readonly textDocument: { readonly uri: string };
  readonly position?: Position;
  readonly symptom: Symptom;
  /** Whether the user asked for a build, which tells of the CUDA and of what it takes. */
  readonly build?: boolean;
}

export interface ProblemParams {
  readonly textDocument: { readonly uri: string };
  readonly position?: Position;
  readonly symptom: Symptom;
  readonly builder?: string;
  readonly arguments?: Arguments;
  readonly argumentSet?: string;
  /** Whether paths, host names and user names stay in the report. */
  readonly keepNames?: boolean;
  /** Whether the user asked for a build, and for what the interpreter is. */
  readonly build?: boolean;
  readonly editor?: string;
}

/** A report as Markdown, written nowhere. */
export interface Problem {
  readonly kind: "problem";
  readonly title: string;
  readonly markdown: string;
}

export type ProblemResult = Problem | Choose | ChooseArguments | NeedArguments | Failed;

/** Which arguments a builder has now, and which it could have. Values are as people write them. */
export interface ArgumentsInUse {
  readonly kind: "arguments";
  readonly builder: string;
  readonly parameters: readonly Parameter[];
  /** Those that count now, and those of the file and its project. Defaults are in neither. */
  readonly values: Arguments;
  readonly own: Arguments;
  readonly sets: ChooseArguments["sets"];
  /** The label of the set that counts now; null where there is none. */
  readonly argumentSet: string | null;
  /** Labels of a registered kernel's configurations, and the one that was chosen. */
  readonly configs: readonly string[];
  readonly config: string | null;
  readonly isChosen: boolean;
}

export const argumentsRequest = new RequestType<CudaParams, ArgumentsInUse | Choose | Failed, void>("tirxLens/arguments");
export const worksheetRequest = new RequestType<WorksheetParams, Page | Failed, void>("tirxLens/worksheet");
export const suspectsRequest = new RequestType<SuspectsParams, Page | Failed, void>("tirxLens/suspects");
export const problemRequest = new RequestType<ProblemParams, ProblemResult, void>("tirxLens/problem");
export const cudaRequest = new RequestType<CudaParams, CudaResult, void>("tirxLens/cuda");
export const targetsRequest = new RequestType<TargetsParams, TargetList | Failed, void>("tirxLens/targets");
export const chooseTargetRequest = new RequestType<ChooseTargetParams, TargetList | ConfirmTarget | Failed, void>(
  "tirxLens/chooseTarget",
);
export const doctorRequest = new RequestType<TargetsParams, DoctorReport | Failed, void>("tirxLens/doctor");
export const timelineRequest = new RequestType<TimelineParams, TimelineResult, void>("tirxLens/timeline");
export const statusNotification = new NotificationType<ServerStatus>("tirxLens/status");
export const fileVersionNotification = new NotificationType<FileVersion>("tirxLens/fileVersion");
export const didGrantTrustNotification = new NotificationType0("tirxLens/didGrantTrust");
/** The user is back at the window: another TVM may be installed by now. */
export const didFocusNotification = new NotificationType0("tirxLens/didFocus");

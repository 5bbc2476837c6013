/** The messages between this extension and the server that LSP itself does not have. */
import { NotificationType, NotificationType0, RequestType } from "vscode-languageclient/node";
import type { Position } from "vscode-languageclient/node";

/** What a kernel's builder is called with: Python expressions by parameter name. */
export type Arguments = Readonly<Record<string, string>>;

/** What the server is told when it starts. Without `trusted` it executes nothing. */
export interface InitializationOptions {
  readonly trusted: boolean;
  readonly settings: {
    /** The kernel interpreter: a program and its arguments; empty where none is known. */
    readonly interpreter: readonly string[];
    readonly arch: string;
    /** Seconds. */
    readonly timeLimit: number;
    readonly select: readonly string[];
    readonly ignore: readonly string[];
    readonly enable: boolean;
  };
}

export interface ServerStatus {
  readonly state: "ready" | "building" | "failed";
  readonly interpreter: string;
  readonly tvmVersion: string | null;
  readonly message: string;
}

export interface CudaParams {
  readonly textDocument: { readonly uri: string };
  readonly position?: Position;
  readonly builder?: string;
  /** What the user said when asked; counts for what the source and its project do not name. */
  readonly answers?: Arguments;
  /** Under which the server reports what the build is doing. */
  readonly workDoneToken?: string;
}

export interface Parameter {
  readonly name: string;
  /** The Python text of its default; absent where it has none. */
  readonly default?: string;
}

export interface Cuda {
  readonly kind: "cuda";
  readonly title: string;
  readonly text: string;
  readonly kernel: string;
  readonly builder: string;
  readonly arguments: Arguments;
  readonly tvmVersion: string;
  readonly target: string;
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

export interface Failed {
  readonly kind: "failed";
  readonly message: string;
  readonly detail: string;
  readonly file?: string;
  /** Counted from 0, as are columns. */
  readonly line?: number;
  readonly column?: number;
}

export type CudaResult = Cuda | NeedArguments | Choose | Failed;

export const cudaRequest = new RequestType<CudaParams, CudaResult, void>("tirxLens/cuda");
export const statusNotification = new NotificationType<ServerStatus>("tirxLens/status");
export const didGrantTrustNotification = new NotificationType0("tirxLens/didGrantTrust");

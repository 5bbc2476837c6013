/** Finding one's way in generated CUDA. */

/**
 * The line, from 0, on which the first kernel is defined; 0 where there is none. TVM puts some
 * hundred lines of helpers before it, and may declare it first.
 */
export function kernelLine(text: string): number {
  const lines = text.split("\n");
  const found = lines.findIndex((line) => line.includes("__global__") && !line.trimEnd().endsWith(";"));
  return Math.max(found, 0);
}

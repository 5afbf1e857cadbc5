import { statfs } from "node:fs/promises";
import { problem } from "../terminal/errors.ts";

/** Etcd alone sets aside 128 MB at its first start; with less than this, servers end in ways that nobody understands. */
const leastFreeBytes = 512 * 1024 ** 2;

/** Throws a LocalError when the disk that holds `directory` has too little space for a start. */
export async function checkSpace(
	directory: string,
	leastBytes: number = leastFreeBytes,
): Promise<void> {
	const { bavail, bsize } = await statfs(directory);
	const freeBytes = bavail * bsize;
	if (freeBytes < leastBytes)
		throw problem.diskAlmostFull(directory, freeBytes, leastBytes);
}

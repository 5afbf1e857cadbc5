import { statfs } from "node:fs/promises";
import { problem } from "../machine/errors.ts";

/** Etcd alone reserves 128 MB at its first start. With less than this, servers fail in obscure ways. */
const leastFreeBytes = 512 * 1024 ** 2;

/** Throws a LocalError when the disk of `directory` has too little space for a start. */
export async function checkSpace(
	directory: string,
	leastBytes: number = leastFreeBytes,
): Promise<void> {
	const { bavail, bsize } = await statfs(directory);
	const freeBytes = bavail * bsize;
	if (freeBytes < leastBytes)
		throw problem.diskAlmostFull(directory, freeBytes, leastBytes);
}

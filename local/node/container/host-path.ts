/** A path that a container sees, and its place on this machine. */
export interface Mount {
	containerPath: string;
	hostPath: string;
}

/**
 * Translates a mounted path, or a path below one, to this machine, where a process sees no container's file system. The
 * innermost mount counts. Any other text stays as it is.
 */
export function toHostPath(text: string, mounts: readonly Mount[]): string {
	let innermost: Mount | undefined;
	for (const mount of mounts) {
		const isInside =
			text === mount.containerPath ||
			text.startsWith(`${mount.containerPath.replace(/\/$/, "")}/`);
		const isDeeper =
			mount.containerPath.length > (innermost?.containerPath.length ?? 0);
		if (isInside && isDeeper) innermost = mount;
	}
	return innermost
		? innermost.hostPath +
				text.slice(innermost.containerPath.replace(/\/$/, "").length)
		: text;
}

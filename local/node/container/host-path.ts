/** A path that a container sees, and where it lies on this machine. */
export interface Mount {
	containerPath: string;
	hostPath: string;
}

/**
 * A process of this machine sees no container's file system, so a text that is a mounted path, or one below it, becomes
 * the path on this machine. The innermost mount counts. Any other text stays as it is.
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

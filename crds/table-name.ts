/**
 * The name of a Pipeline's table: what the spec says, else the Pipeline's own name as an SQL identifier. Kubernetes
 * names have no `_`, so that two Pipelines never come to the same one.
 */
export function tableNameOf(
	pipeline: string,
	wanted: string | undefined,
): string {
	if (wanted) return wanted;
	const name = pipeline.replaceAll("-", "_");
	return /^\d/.test(name) ? `_${name}` : name;
}

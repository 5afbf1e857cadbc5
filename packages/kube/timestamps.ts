/** metav1.Time: whole seconds, as Kubernetes itself writes them. */
export function rfc3339(instantMs: number): string {
	return new Date(instantMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/** metav1.MicroTime: RFC 3339 with exactly six decimals. The apiserver refuses any other number. */
export function microTime(instantMs: number): string {
	return new Date(instantMs).toISOString().replace("Z", "000Z");
}

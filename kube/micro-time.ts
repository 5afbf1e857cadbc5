/** metav1.MicroTime: RFC 3339 with exactly six decimals, or the apiserver refuses it. */
export function microTime(instantMs: number): string {
	return new Date(instantMs).toISOString().replace("Z", "000Z");
}

/** A duration as specs write it, such as `1h30m`, in milliseconds. The CRDs check its form. */
export function durationMs(text: string): number {
	const [, hours = "0", minutes = "0"] =
		/^(?:(\d+)h)?(?:(\d+)m)?$/.exec(text) ?? [];
	return (Number(hours) * 60 + Number(minutes)) * 60_000;
}

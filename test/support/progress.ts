/** Says every minute what is still going on, so that nobody takes long work for a hang. */
export async function withProgress<T>(
	what: string,
	work: Promise<T>,
	say: (line: string) => void = console.log,
): Promise<T> {
	let minutes = 0;
	const timer = setInterval(() => {
		minutes += 1;
		say(`  still ${what} (${minutes} min)`);
	}, 60_000);
	try {
		return await work;
	} finally {
		clearInterval(timer);
	}
}

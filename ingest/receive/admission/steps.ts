/** Long work that can pause: it yields how many bytes it has visited since it last paused, at most {@link stepBytes} and a few. */
export type Steps<T> = Generator<number, T, void>;

export const stepBytes = 16 * 1024;

/** Does all of the work now. */
export function doNow<T>(steps: Steps<T>): T {
	for (;;) {
		const { done, value } = steps.next();
		if (done) return value;
	}
}

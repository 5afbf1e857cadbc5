/**
 * An AbortSignal that fires on the first SIGTERM or SIGINT, so that a role can stop in order. A second signal ends the
 * process at once.
 */
export function stopSignal(): AbortSignal {
	const controller = new AbortController();
	for (const name of ["SIGTERM", "SIGINT"] as const)
		process.on(name, () => {
			if (controller.signal.aborted) process.exit(130);
			controller.abort();
		});
	return controller.signal;
}

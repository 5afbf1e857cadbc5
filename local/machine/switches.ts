import { LocalError } from "./errors.ts";

const words: Record<string, boolean> = {
	...{ "1": true, true: true, yes: true, on: true },
	...{ "0": false, false: false, no: false, off: false },
};

/** Whether a variable of `make up` is on. Throws a LocalError at any other word than those for yes and no. */
export function isOn(
	env: NodeJS.ProcessEnv,
	name: string,
	fallback = false,
): boolean {
	const text = env[name];
	if (!text) return fallback;
	const answer = words[text.trim().toLowerCase()];
	if (answer === undefined)
		throw new LocalError(
			`${name} is "${text}". It must be 1, true, yes or on; or 0, false, no or off.`,
		);
	return answer;
}

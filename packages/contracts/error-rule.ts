/** What holds of an error, whatever happened to what. */
export interface ErrorRule {
	/** Whether another attempt may succeed without a person's help. */
	retryable: boolean;
	/** What a person should do. */
	advice: string;
	/** The same for a Destination's check, where `advice` is about Runs. Tidemill repeats a check that failed. */
	checkAdvice?: string;
	/** Only time helps, such as until a quota resets: another attempt within minutes can't. */
	waits?: true;
}

/** An error that stays until a person acts. */
export const permanent = (advice: string, checkAdvice?: string) =>
	ruleOf(false, advice, checkAdvice);

/** An error that another attempt may not have. */
export const passing = (advice: string, checkAdvice?: string) =>
	ruleOf(true, advice, checkAdvice);

/** An error that no attempt within minutes can be without. A Run tries again later. */
export const waiting = (advice: string, checkAdvice?: string): ErrorRule => ({
	...passing(advice, checkAdvice),
	waits: true,
});

function ruleOf(
	retryable: boolean,
	advice: string,
	checkAdvice: string | undefined,
): ErrorRule {
	return { retryable, advice, ...(checkAdvice && { checkAdvice }) };
}

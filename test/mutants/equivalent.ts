/** A mutant that no test can notice, and why. */
export interface Equivalent {
	file: string;
	/** The changed expression and what Stryker puts in its place, as `make mutants` prints them. */
	original: string;
	replacement: string;
	reason: string;
}

export const equivalents: Equivalent[] = [];

import { expect, test } from "vitest";
import { RequestFailure, requestErrors } from "./errors.ts";

test("the answer to a refused request has the code, what happened, and what to do", () => {
	const failure = new RequestFailure("ManifestTaken", "It is another's.");
	expect(failure.toAnswer()).toEqual({
		code: "ManifestTaken",
		message: "It is another's. Start a new Run.",
		retryable: false,
	});
});

test("operator tries again exactly where its request can succeed without a person of the account", () => {
	const retryable = Object.entries(requestErrors)
		.filter(([, error]) => error.retryable)
		.map(([code]) => code);
	expect(retryable.sort()).toEqual([
		"ArchiveBusy",
		// All Runs of an installation would fail at once, for what none of their people can change.
		"BucketRefused",
		"ClocksDiffer",
		"LedgerMismatch",
		"ShardNotReady",
		"StoreUnavailable",
	]);
});

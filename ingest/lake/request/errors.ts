import {
	type ErrorRule,
	passing,
	permanent,
} from "../../../packages/contracts/error-rule.ts";
import { errorIdOf, seeLog } from "../../../packages/service/log.ts";

/** Why archive refuses a request of operator's. `retryable`: a repeated request may succeed without help of the account's people. */
export const requestErrors = {
	QuestionInvalid: permanent("Run operator and archive in the same version."),
	ShardNotReady: passing(
		"Operator tries again. Archive's log says what the shard waits for.",
	),
	ShardStopped: permanent(
		"Resolve the alarm. Until then, events stay in the stream.",
	),
	BucketRefused: passing(
		"Operator tries again. An administrator restores the bucket, or accepts this one by `tidemill ledger accept-bucket`.",
	),
	ArchiveBusy: passing(
		"Archive is behind and is catching up. Operator tries again.",
	),
	ClocksDiffer: passing(
		"Set the clocks of the nodes of NATS and Tidemill, such as by NTP. Operator tries again.",
	),
	ManifestTaken: permanent("Start a new Run."),
	SourceDeleted: permanent("There is nothing left to load."),
	ManifestOutdated: permanent("Start a new Run, or create another Operation."),
	ReleasesTooMany: permanent(
		"A date takes 1,000 parts of releases. What is left of it stays in quarantine.",
	),
	LedgerMismatch: passing(
		"Operator tries again. If the error stays, compare the cut records of that date with its compaction record: one of them was changed.",
	),
	ObjectMissing: permanent(
		"Somebody or a lifecycle rule deleted it. Restore it, then start a new Run. If it is gone for good, an administrator accepts the loss by date: `tidemill ledger verify` names what is missing and the command.",
	),
	AnswerUnsendable: permanent("Ask for less, such as fewer dates."),
	CursorInvalid: permanent(
		"Use the cursor of the page before, with the same parameters.",
	),
	CursorExpired: permanent("List again from the first page."),
	ExportMissing: permanent(
		"It goes a month after the Export. Create another Operation.",
	),
	UploadMissing: permanent(
		"It goes three days after it came. Upload it, then create another Operation.",
	),
	UploadsTooLarge: permanent(
		"Uploaded files go three days after they came, and a link that nobody uses counts for two hours. Wait for that, or upload less.",
	),
	ImportOutdated: permanent("Create another Operation. It adds what is left."),
	ImportInvalid: permanent(
		"Create another Operation. If that fails, too, check that archive and the Job image have the same version.",
	),
	RetentionBlocked: permanent(
		"Remove or lengthen the rule, or let archive change the bucket's lifecycle rules.",
	),
	RetentionUnsure: permanent(
		"Allow archive's credentials s3:GetLifecycleConfiguration and s3:PutLifecycleConfiguration.",
	),
	StoreUnavailable: passing("Operator tries again."),
} satisfies Record<string, ErrorRule>;

export type RequestErrorCode = keyof typeof requestErrors;

/**
 * A refusal from the table {@link requestErrors}. `what` says what happened, to what, for people of the account. What they may
 * not read, such as the key of an object, is in `internals`: it goes to archive's log, under an id that the message quotes.
 */
export class RequestFailure extends Error {
	override name = "RequestFailure";
	readonly code: RequestErrorCode;
	readonly internals: string | undefined;
	readonly errorId: string | undefined;

	constructor(
		code: RequestErrorCode,
		what: string,
		{ internals, ...options }: ErrorOptions & { internals?: string } = {},
	) {
		const errorId = internals === undefined ? undefined : errorIdOf(internals);
		const more = errorId ? ` (${seeLog(errorId, "archive")})` : "";
		super(
			`${what.replace(/[.\s]*$/, "")}${more}. ${requestErrors[code].advice}`,
			options,
		);
		this.code = code;
		this.internals = internals;
		this.errorId = errorId;
	}

	toAnswer(): { code: string; message: string; retryable: boolean } {
		const { code, message } = this;
		return { code, message, retryable: requestErrors[code].retryable };
	}
}

import { errorIdOf, seeLog } from "../../../packages/service/withheld.ts";

/** Why archive refuses a request of operator's. `retryable`: a repeated request may succeed without a person's help. */
export const requestErrors = {
	QuestionInvalid: {
		retryable: false,
		advice: "Run operator and archive in the same version.",
	},
	ShardNotReady: {
		retryable: true,
		advice:
			"Operator tries again. Archive's log says what the shard waits for.",
	},
	ShardStopped: {
		retryable: false,
		advice: "Resolve the alarm. Until then, events stay in the stream.",
	},
	ArchiveBusy: {
		retryable: true,
		advice: "Archive is behind and is catching up. Operator tries again.",
	},
	ClocksDiffer: {
		retryable: true,
		advice:
			"Set the clocks of the nodes of NATS and Tidemill, such as by NTP. Operator tries again.",
	},
	ManifestTaken: {
		retryable: false,
		advice: "Start a new Run.",
	},
	SourceDeleted: {
		retryable: false,
		advice: "There is nothing left to load.",
	},
	ManifestOutdated: {
		retryable: false,
		advice: "Start a new Run, or create another Operation.",
	},
	ReleasesTooMany: {
		retryable: false,
		advice:
			"A date takes 1,000 parts of releases. What is left of it stays in quarantine.",
	},
	LedgerMismatch: {
		retryable: true,
		advice:
			"Operator tries again. If the error stays, compare the cut records of that date with its compaction record: one of them was changed.",
	},
	ObjectMissing: {
		retryable: false,
		advice:
			"Somebody or a lifecycle rule deleted it. Restore it, then start a new Run.",
	},
	AnswerUnsendable: {
		retryable: false,
		advice: "Ask for less, such as fewer dates.",
	},
	CursorInvalid: {
		retryable: false,
		advice: "Use the cursor of the page before, with the same parameters.",
	},
	CursorExpired: {
		retryable: false,
		advice: "List again from the first page.",
	},
	ExportMissing: {
		retryable: false,
		advice: "It goes a month after the Export. Create another Operation.",
	},
	UploadMissing: {
		retryable: false,
		advice:
			"It goes three days after it came. Upload it, then create another Operation.",
	},
	UploadsTooLarge: {
		retryable: false,
		advice:
			"Uploaded files go three days after they came, and a link that nobody uses counts for two hours. Wait for that, or upload less.",
	},
	ImportOutdated: {
		retryable: false,
		advice: "Create another Operation. It adds what is left.",
	},
	ImportInvalid: {
		retryable: false,
		advice:
			"Create another Operation. If that fails, too, check that archive and the Job image have the same version.",
	},
	RetentionBlocked: {
		retryable: false,
		advice:
			"Remove or lengthen the rule, or let archive change the bucket's lifecycle rules.",
	},
	RetentionUnsure: {
		retryable: false,
		advice:
			"Allow archive's credentials s3:GetLifecycleConfiguration and s3:PutLifecycleConfiguration.",
	},
	StoreUnavailable: {
		retryable: true,
		advice: "Operator tries again.",
	},
} as const satisfies Record<string, { retryable: boolean; advice: string }>;

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

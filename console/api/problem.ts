import type { Problem } from "../generated/types.ts";
import { shell } from "../messages/shell.ts";

/** How one can sign in, which the API says to whom it doesn't know. */
export interface SignInWays {
	token: boolean;
	oidc: boolean;
	code: boolean;
}

export type ProblemCode = Problem["code"] | "Away";

/** What the API refused (RFC 9457), or that it didn't answer. */
export class ApiProblem extends Error {
	override readonly name = "ApiProblem";
	/** The HTTP status; 0 if there was no answer. */
	readonly status: number;
	/** For programs. `Away` if there was no answer, or one of a proxy. */
	readonly code: ProblemCode;
	/** What is wrong by the path of the field, such as `table.name`. */
	readonly fieldErrors: ReadonlyMap<string, string>;
	readonly requestId: string | undefined;
	/** Only of a request without a session. */
	readonly signIn: SignInWays | undefined;
	/** How long the API wants not to be asked (RFC 9110 §10.2.3). */
	readonly retryAfterSeconds: number | undefined;

	constructor(
		status: number,
		code: ProblemCode,
		detail: string,
		fieldErrors: ReadonlyMap<string, string> = new Map(),
		requestId?: string,
		signIn?: SignInWays,
		retryAfterSeconds?: number,
	) {
		super(detail);
		this.status = status;
		this.code = code;
		this.fieldErrors = fieldErrors;
		this.requestId = requestId;
		this.signIn = signIn;
		this.retryAfterSeconds = retryAfterSeconds;
	}
}

/** The problem in an answer. A page of something in between the console and the API is `Away`. */
export function problemOf(
	status: number,
	answer: string,
	requestId: string | undefined,
	retryAfter?: string,
): ApiProblem {
	const seconds = /^\d+$/.test(retryAfter ?? "")
		? Number(retryAfter)
		: undefined;
	const problem = parsed(answer);
	if (!problem)
		return new ApiProblem(
			status,
			"Away",
			shell.foreignAnswer(status),
			new Map(),
			requestId,
			undefined,
			seconds,
		);
	const { code, detail, title, details, signIn } = problem;
	const fields = new Map(
		Array.isArray(details)
			? details.map(({ path, message }) => [path, message] as const)
			: [],
	);
	const text = detail || title;
	return new ApiProblem(
		...([status, code, text, fields, requestId, signIn, seconds] as const),
	);
}

/** Whether the same request may succeed a little later, without anybody doing something. */
export function passes({ status, code }: ApiProblem): boolean {
	return code === "Away" || [429, 503, 504].includes(status);
}

/** The message for a field: the problem's own, or the first of a field inside it. */
export function fieldError(
	problem: ApiProblem | undefined,
	path: string,
): string | undefined {
	if (!problem) return;
	const own = problem.fieldErrors.get(path);
	if (own) return own;
	for (const [where, message] of problem.fieldErrors)
		if (where.startsWith(`${path}.`) || where.startsWith(`${path}[`))
			return `${where.slice(path.length).replace(/^\./, "")}: ${message}`;
	return undefined;
}

/** The messages of fields that the form doesn't show, so that none is lost. */
export function otherFieldErrors(
	problem: ApiProblem,
	shown: readonly string[],
): string[] {
	return [...problem.fieldErrors]
		.filter(
			([path]) =>
				!shown.some(
					(one) =>
						path === one ||
						path.startsWith(`${one}.`) ||
						path.startsWith(`${one}[`),
				),
		)
		.map(([path, message]) => `${path}: ${message}`);
}

function parsed(text: string): (Problem & { signIn?: SignInWays }) | undefined {
	try {
		const value: unknown = JSON.parse(text);
		const isProblem =
			typeof value === "object" && value !== null && "code" in value;
		return isProblem ? (value as Problem) : undefined;
	} catch {
		return undefined;
	}
}

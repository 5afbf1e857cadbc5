import {
	certificateFault,
	HostRefused,
	socketFault,
} from "../../load/checked-host.ts";
import { JobFailure, refusalWords } from "../../load/failure.ts";
import { clickHouseErrors } from "../definition.ts";

type Code = keyof typeof clickHouseErrors;

export class ClickHouseFailure extends JobFailure<Code> {
	constructor(code: Code, what: string, options?: ErrorOptions) {
		super(code, what, options, clickHouseErrors);
	}
}

/** By the names that the server gives its errors (src/Common/ErrorCodes.cpp of ClickHouse). */
const codes: Readonly<Record<string, Code>> = {
	AUTHENTICATION_FAILED: "CredentialsRefused",
	REQUIRED_PASSWORD: "CredentialsRefused",
	WRONG_PASSWORD: "CredentialsRefused",
	UNKNOWN_USER: "CredentialsRefused",
	IP_ADDRESS_NOT_ALLOWED: "CredentialsRefused",
	ACCESS_DENIED: "PermissionDenied",
	NOT_ENOUGH_PRIVILEGES: "PermissionDenied",
	READONLY: "PermissionDenied",
	UNKNOWN_DATABASE: "DatabaseMissing",
	DATABASE_ACCESS_DENIED: "PermissionDenied",
	CLUSTER_DOESNT_EXIST: "ClusterUnsuitable",
	MEMORY_LIMIT_EXCEEDED: "ClickHouseBusy",
	TOO_MANY_SIMULTANEOUS_QUERIES: "ClickHouseBusy",
	TOO_MANY_PARTS: "ClickHouseBusy",
	NOT_ENOUGH_SPACE: "ClickHouseBusy",
	TIMEOUT_EXCEEDED: "ClickHouseBusy",
	DEADLOCK_AVOIDED: "ClickHouseBusy",
	QUERY_WAS_CANCELLED: "ClickHouseBusy",
	TABLE_IS_READ_ONLY: "ClickHouseBusy",
	UNFINISHED: "ClickHouseBusy",
	NETWORK_ERROR: "ClickHouseUnavailable",
	SOCKET_TIMEOUT: "ClickHouseUnavailable",
	KEEPER_EXCEPTION: "ClickHouseUnavailable",
	ALL_CONNECTION_TRIES_FAILED: "ClickHouseUnavailable",
};

/** The errors whose words name users, databases, grants, sizes and settings alone. Any other's may quote rows or a statement. */
const quoteless = new Set([
	...["AUTHENTICATION_FAILED", "REQUIRED_PASSWORD", "WRONG_PASSWORD"],
	...["UNKNOWN_USER", "IP_ADDRESS_NOT_ALLOWED", "ACCESS_DENIED"],
	...["NOT_ENOUGH_PRIVILEGES", "READONLY", "UNKNOWN_DATABASE"],
	...["DATABASE_ACCESS_DENIED", "CLUSTER_DOESNT_EXIST", "TABLE_IS_READ_ONLY"],
	...["TOO_MANY_SIMULTANEOUS_QUERIES", "TOO_MANY_PARTS", "NOT_ENOUGH_SPACE"],
	...["KEEPER_EXCEPTION", "ALL_CONNECTION_TRIES_FAILED"],
]);

/** A value or a row that isn't taken: by a constraint, a type, or a function of a materialized view. */
const ofRows =
	/^(VIOLATED_CONSTRAINT|CANNOT_(PARSE|READ|CONVERT|INSERT)_.*|INCORRECT_DATA|TYPE_MISMATCH|UNKNOWN_ELEMENT_OF_ENUM|VALUE_IS_OUT_OF_RANGE.*|ARGUMENT_OUT_OF_BOUND|DECIMAL_OVERFLOW|ILLEGAL_COLUMN|TOO_LARGE_.*|FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)$/;

/**
 * An exception of ClickHouse; undefined for a text that is none. It ends in the error's name (getExceptionMessage of
 * src/Common/Exception.cpp): what stands before may be a row's.
 */
export function exceptionFailure(text: string): JobFailure<string> | undefined {
	const [, number, words, name] =
		/^Code: (\d+)\. (DB::.*\(([A-Z][A-Z0-9_]+)\))(?: \(version [^\n]*\))?\s*$/s.exec(
			text,
		) ?? [];
	if (name === undefined) return undefined;
	// It begins so (src/Processors/Transforms/CheckConstraintsTransform.cpp), and a name's own backticks are escaped.
	const [, constraint, table] =
		/^DB::Exception: Constraint `((?:[^`\\]|\\.)+)` for table (\S+) /.exec(
			words!,
		) ?? [];
	const refusal = {
		by: "ClickHouse",
		code: `code ${number}, ${name}`,
		...(constraint && { constraint, table }),
		...(quoteless.has(name) && { words: words! }),
	};
	return ofRows.test(name)
		? new JobFailure("RowsRefused", refusalWords(refusal, "rows"))
		: new ClickHouseFailure(
				codes[name] ?? "ClickHouseRefused",
				refusalWords(refusal),
			);
}

/**
 * @param exception The answer's text if its header says that it is an exception of ClickHouse; undefined for any other answer,
 * of which not a word is repeated: an address that a stranger wrote may be another server's.
 */
export function serverFailure(
	status: number,
	exception: string | undefined,
): JobFailure<string> {
	const failure = exceptionFailure(exception ?? "");
	if (failure) return failure;
	if (status === 502 || status === 503 || status === 504)
		return new ClickHouseFailure(
			"ClickHouseUnavailable",
			`What answers before ClickHouse has HTTP status ${status}`,
		);
	return new ClickHouseFailure(
		"ClickHouseNotSpoken",
		`The server answers with HTTP status ${status}, and not as ClickHouse does`,
	);
}

export function connectionFailure(
	action: string,
	error: NodeJS.ErrnoException,
): ClickHouseFailure {
	if (error instanceof HostRefused)
		return new ClickHouseFailure("HostNotAllowed", error.message);
	const { code = "" } = error;
	const isCertificate = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code);
	return new ClickHouseFailure(
		isCertificate ? "CertificateRefused" : "ClickHouseUnavailable",
		isCertificate
			? `The server's certificate isn't accepted: ${certificateFault(code)}`
			: `ClickHouse can't be reached at "${action}": ${socketFault(code, error.message === "Timeout error." ? "no answer in time" : error.name)}`,
		{ cause: error },
	);
}

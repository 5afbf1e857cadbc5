import { HostRefused, quotedWords } from "../../load/checked-host.ts";
import { JobFailure } from "../../load/failure.ts";
import { clickHouseErrors } from "../errors.ts";

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

/**
 * @param exception The answer's text if its header says that it is an exception of ClickHouse; undefined for any other answer,
 * of which not a word is repeated: an address that a stranger wrote may be another server's.
 */
export function serverFailure(
	status: number,
	exception: string | undefined,
): ClickHouseFailure {
	const [, words, name] =
		/^Code: \d+\. (DB::.*\(([A-Z][A-Z0-9_]+)\))/s.exec(exception ?? "") ?? [];
	if (words !== undefined)
		return new ClickHouseFailure(
			codes[name!] ?? "ClickHouseRefused",
			`ClickHouse says: ${quotedWords(words)}`,
		);
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
			? `The server's certificate isn't trusted: ${code}`
			: `ClickHouse can't be reached at "${action}": ${code || error.message}`,
		{ cause: error },
	);
}

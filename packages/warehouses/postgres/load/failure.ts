import pg from "pg";
import { HostRefused, quotedWords } from "../../load/checked-host.ts";
import { JobFailure } from "../../load/failure.ts";
import { postgresErrors } from "../errors.ts";
import { AuthenticationRefused } from "./authentication.ts";

type Code = keyof typeof postgresErrors;

export class PostgresFailure extends JobFailure<Code> {
	constructor(code: Code, what: string, options?: ErrorOptions) {
		super(code, what, options, postgresErrors);
	}
}

/** By SQLSTATE, or the class that its first two characters are (postgresql.org/docs/current/errcodes-appendix.html). */
const codes: Readonly<Record<string, Code>> = {
	"28": "CredentialsRefused",
	"42501": "PermissionDenied",
	"3D": "DatabaseMissing",
	"3F": "DatabaseMissing",
	"53100": "PostgresFull",
	"53": "PostgresBusy",
	"54": "PostgresRefused",
	"55P03": "PostgresBusy",
	"57014": "PostgresBusy",
	"40": "PostgresBusy",
	"57": "PostgresUnavailable",
	"08": "PostgresUnavailable",
	"25006": "PostgresUnavailable",
	"25P03": "PostgresUnavailable",
	"2BP01": "TableInUse",
};

/** The server refused a value or a row for its size, or the depth of a text, and we know which may be meant. */
export class SizeRefused extends Error {
	override readonly cause: pg.DatabaseError;

	/** @param message which events may be meant, in sentences. */
	constructor(cause: pg.DatabaseError, message: string) {
		super(message);
		this.cause = cause;
	}
}

/** Of the class of program limits (postgresql.org/docs/current/errcodes-appendix.html). */
export function isOfSize(error: unknown): error is pg.DatabaseError {
	return error instanceof pg.DatabaseError && !!error.code?.startsWith("54");
}

/** An error of the connection or of a statement, with the server's words if it sent them as an ErrorResponse. */
export function failureOf(error: unknown, server: string): unknown {
	if (!(error instanceof Error) || error instanceof JobFailure) return error;
	if (error instanceof SizeRefused) {
		const refusal = failureOf(error.cause, server) as PostgresFailure;
		const { cause } = error;
		return new PostgresFailure(
			refusal.code,
			`${refusal.what} ${error.message}`,
			{ cause },
		);
	}
	if (error instanceof HostRefused)
		return new PostgresFailure("HostNotAllowed", error.message);
	if (error instanceof AuthenticationRefused)
		return new PostgresFailure(
			"ServerUnverified",
			`The server ${server} ${error.message}`,
		);
	if (error instanceof pg.DatabaseError) {
		const { code = "", detail, hint } = error;
		const words = [error.message, detail, hint].filter(Boolean).join(". ");
		return new PostgresFailure(
			codes[code] ?? codes[code.slice(0, 2)] ?? "PostgresRefused",
			`Postgres at ${server} says: ${quotedWords(words)} (SQLSTATE ${quotedWords(code).slice(0, 5)})`,
			{ cause: error },
		);
	}
	const { code = "" } = error as NodeJS.ErrnoException;
	if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|ERR_OSSL/.test(code))
		return new PostgresFailure(
			"CertificateRefused",
			`The certificate of ${server} isn't accepted: ${code}`,
			{ cause: error },
		);
	if (error.message === "The server does not support SSL connections")
		return new PostgresFailure(
			"CertificateRefused",
			`The server ${server} offers no encryption`,
		);
	if (error.message.startsWith("SASL: SCRAM-SERVER-FINAL-MESSAGE"))
		return new PostgresFailure(
			"ServerUnverified",
			`The server ${server} hasn't shown that it knows the password`,
		);
	// What the client library says of bytes that aren't Postgres' protocol.
	if (
		/error response to SSLRequest|invalid response|protocol|Unknown auth/i.test(
			error.message,
		)
	)
		return new PostgresFailure(
			"PostgresNotSpoken",
			`${server} doesn't answer as Postgres does`,
		);
	if (isOfConnection(error))
		return new PostgresFailure(
			"PostgresUnavailable",
			`Postgres at ${server} can't be reached: ${code || error.message}`,
			{ cause: error },
		);
	return error;
}

function isOfConnection(error: Error): boolean {
	const { code = "", syscall } = error as NodeJS.ErrnoException;
	return (
		syscall !== undefined ||
		/^E[A-Z]+$/.test(code) ||
		/timeout|terminated|closed|not queryable|Connection|SASL|SCRAM/i.test(
			error.message,
		)
	);
}

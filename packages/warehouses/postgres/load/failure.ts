import type { Duplex } from "node:stream";
import pg from "pg";
import { DuckDBRefusal } from "../../../duckdb/session.ts";
import { parseBinding } from "../../definition/binding.ts";
import {
	certificateFault,
	HostRefused,
	socketFault,
} from "../../load/checked-host.ts";
import { JobFailure, refusalWords } from "../../load/failure.ts";
import { postgresErrors } from "../definition.ts";
import type { PostgresInput } from "../input.ts";

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

/**
 * The SQLSTATEs, or their beginnings, whose primary message names tables, roles, sizes and settings alone. Any other may quote a
 * row, also that of a function's RAISE, and DETAIL and HINT may always.
 */
const quoteless =
	/^(08|0A|25|28|3D|3F|40|53|54|55|57|58|42(501|701|703|704|710|804|809|883|P01|P07|P16)|2BP01)/;

/** Of values, of constraints, and of the CHECK OPTION of views. */
const ofRows = /^(22|23|44)/;

/** What COPY alone says of where it is: in binary, it quotes no value (src/backend/commands/copyfrom.c of Postgres). */
const copyContext = /^COPY [^\n]+?, line \d+(?:, column ([^\n]+))?$/;

/** What an ErrorResponse tells. A function says whatever it likes, in any field but the SQLSTATE, and whatever that is. */
function refusalOf(error: pg.DatabaseError, by: string) {
	const { code = "", where, constraint, table, column, detail } = error;
	const inCopy = copyContext.exec(where ?? "");
	const isOfServer = where === undefined || inCopy !== null;
	// Names of what depends on a table.
	const more = code === "2BP01" && detail ? `. ${detail}` : "";
	const isOfRows = ofRows.test(code) || !isOfServer;
	return {
		isOfRows: isOfRows && !(codes[code] ?? codes[code.slice(0, 2)]),
		what: refusalWords(
			{
				by,
				code: `SQLSTATE ${code.slice(0, 5)}${isOfServer ? "" : ", in a function or a trigger"}`,
				...(isOfServer && { constraint, table, column: column ?? inCopy?.[1] }),
				...(isOfServer &&
					quoteless.test(code) && { words: `${error.message}${more}` }),
			},
			isOfRows ? "rows" : "a statement",
		),
	};
}

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

/** An error of the connection or of a statement, with the server's words if it sent them as an ErrorResponse and they quote nothing. */
export function failureOf(error: unknown, server: string): unknown {
	if (!(error instanceof Error) || error instanceof JobFailure) return error;
	// Of a session that makes what is copied.
	if (error instanceof DuckDBRefusal) return error;
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
		const { code = "" } = error;
		const { isOfRows, what } = refusalOf(error, `Postgres at ${server}`);
		const options = { cause: error };
		// Of the server, in whichever language its words are: row_security is off, and a policy applies.
		if (error.routine === "check_enable_rls")
			return new PostgresFailure("RowsHidden", what, options);
		return isOfRows
			? new JobFailure("RowsRefused", what, options)
			: new PostgresFailure(
					codes[code] ?? codes[code.slice(0, 2)] ?? "PostgresRefused",
					what,
					options,
				);
	}
	const { code = "" } = error as NodeJS.ErrnoException;
	if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|ERR_OSSL/.test(code))
		return new PostgresFailure(
			"CertificateRefused",
			`The certificate of ${server} isn't accepted: ${certificateFault(code)}`,
			{ cause: error },
		);
	if (error.message === "The server does not support SSL connections")
		return new PostgresFailure(
			"EncryptionMissing",
			`The server ${server} offers no TLS`,
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
			`Postgres at ${server} can't be reached: ${socketFault(code, error.message)}`,
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

/**
 * Whether a certificate has shown that the server is the one that was meant. One of a public authority shows that only of the
 * host that it is for: anybody gets one for a host of their own, so libpq, too, has no weaker mode with these
 * (`sslrootcert=system`, postgresql.org/docs/current/libpq-ssl.html).
 */
export function isVerified(
	{ sslMode, ca, bound }: Pick<PostgresInput, "sslMode" | "ca" | "bound">,
	authorities: string | undefined,
): boolean {
	// Authorities count that whoever wrote the Secret has chosen.
	const isTheirs = (text: string) => parseBinding(text)?.ca === ca;
	if (ca !== undefined && !bound?.to.some(isTheirs)) return false;
	if (sslMode === "disable") return false;
	return sslMode === "verify-full" || authorities !== undefined;
}

/** The server asked for more than it may have. Nothing that holds the password, or by which it can be guessed, was sent. */
class AuthenticationRefused extends Error {
	override name = "AuthenticationRefused";
}

/** RFC 7677 §4; the default of Postgres' `scram_iterations`, too. */
const fewestIterations = 4_096;

interface Message {
	name: string;
	data?: string;
}

/**
 * The client's connection, which gives the password to no server that might be another's, and takes none for authenticated that
 * hasn't shown that it knows the password. It decides where a message is written, since a server may ask twice, in two ways
 * (postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP).
 */
export class AuthenticatedConnection extends pg.Connection {
	readonly #isVerified: boolean;
	/** Once the exchange has begun: whether the server has ended it. The client compares the signature with which it does. */
	#isSignedByServer: boolean | undefined;
	/** The latest answer of the server in it (RFC 5802 §7, server-first-message). */
	#serverFirst = "";

	constructor(
		config: ConstructorParameters<typeof pg.Connection>[0],
		isVerified: boolean,
	) {
		super(config);
		this.#isVerified = isVerified;
		// Before the client's own listeners, which are added when it connects.
		this.on("authenticationSASLContinue", ({ data = "" }: Message) => {
			this.#serverFirst = data;
		});
		this.on("authenticationSASLFinal", () => {
			this.#isSignedByServer = true;
		});
		// AuthenticationOk itself may be left out.
		this.on("readyForQuery", () => {
			if (this.#isSignedByServer === false)
				this.#refuse(
					"ended SCRAM without its signature, so it may not know the password",
				);
		});
	}

	/** PasswordMessage: the answer to AuthenticationCleartextPassword and to AuthenticationMD5Password. */
	password(password: string): void {
		if (this.#isVerified) Super.password.call(this, password);
		else
			this.#refuse(
				"asks for the password in clear text or as an MD5 digest, and nothing has shown that it is the server that is meant",
			);
	}

	sendSASLInitialResponseMessage(mechanism: string, response: string): void {
		this.#isSignedByServer = false;
		Super.sendSASLInitialResponseMessage.call(this, mechanism, response);
	}

	sendSCRAMClientFinalMessage(proof: string): void {
		// Whoever reads the proof tries passwords on it, each for so many iterations. Postgres sends no further attribute.
		const [, iterations] =
			/^r=[^,]+,s=[^,]+,i=(\d+)$/.exec(this.#serverFirst) ?? [];
		if (this.#isVerified || Number(iterations) >= fewestIterations)
			Super.sendSCRAMClientFinalMessage.call(this, proof);
		else
			this.#refuse(
				`asks for SCRAM with ${iterations ?? "an unknown number of"} iterations, fewer than ${fewestIterations}, by which the password could be guessed`,
			);
	}

	/** Its parser throws at what it doesn't know, such as a request for GSSAPI, and nothing would catch that. */
	attachListeners(stream: Duplex): void {
		Super.attachListeners.call(this, stream);
		const parse = stream.listeners("data").at(-1) as (bytes: Buffer) => void;
		stream.off("data", parse);
		stream.on("data", (bytes: Buffer) => {
			try {
				parse(bytes);
			} catch (error) {
				this.emit("error", error);
				stream.destroy();
			}
		});
	}

	#refuse(what: string): void {
		this.emit("error", new AuthenticationRefused(what));
	}
}

/** Methods that the client's types leave out. */
const Super = pg.Connection.prototype as unknown as {
	attachListeners(stream: Duplex): void;
	password(password: string): void;
	sendSASLInitialResponseMessage(mechanism: string, response: string): void;
	sendSCRAMClientFinalMessage(proof: string): void;
};

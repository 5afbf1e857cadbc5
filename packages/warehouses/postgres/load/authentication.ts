import type { Duplex } from "node:stream";
import pg from "pg";
import { parseBinding } from "../../definition/binding.ts";
import type { PostgresInput } from "../input.ts";

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
export class AuthenticationRefused extends Error {
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

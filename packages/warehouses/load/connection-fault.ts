/*
 * What a person does about a connection that doesn't come about follows from why, which a code alone doesn't tell
 * (nodejs.org/api/errors.html#common-system-errors, nodejs.org/api/tls.html#x509-certificate-error-codes).
 */

const ofSocket: Record<string, string> = {
	ENOTFOUND: "no server has this name",
	EAI_AGAIN: "its name can't be looked up now",
	ECONNREFUSED: "nothing listens at this port",
	ECONNRESET: "the connection was closed at once",
	EHOSTUNREACH: "no way leads there",
	ENETUNREACH: "no way leads there",
	ETIMEDOUT: "nothing answers, as behind a firewall or a NetworkPolicy",
};

const ofCertificate: Record<string, string> = {
	ERR_TLS_CERT_ALTNAME_INVALID: "it is for other names than this host",
	CERT_HAS_EXPIRED: "it has expired",
	CERT_NOT_YET_VALID: "it isn't valid yet",
	DEPTH_ZERO_SELF_SIGNED_CERT: "no trusted authority has signed it",
	SELF_SIGNED_CERT_IN_CHAIN: "no trusted authority has signed it",
	UNABLE_TO_GET_ISSUER_CERT: "no trusted authority has signed it",
	UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "no trusted authority has signed it",
	UNABLE_TO_VERIFY_LEAF_SIGNATURE: "no trusted authority has signed it",
};

/** Why a server isn't reached, with the code, which a search finds. @param otherwise for what has no code. */
export function socketFault(code: string, otherwise: string): string {
	const words = ofSocket[code];
	return words ? `${words} (${code})` : code || otherwise;
}

/** What is wrong with a server's certificate. */
export function certificateFault(code: string): string {
	const words = ofCertificate[code];
	return words ? `${words} (${code})` : code;
}

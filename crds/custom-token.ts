/** Somebody who can send requests can try out shorter ones. In bytes. */
const minTokenBytes = 16;

/**
 * Why a text can't be a Source's custom token, such as "is empty", and what to do; undefined if it can. RFC 9110 §5.5: a field
 * value has no control characters.
 */
export function customTokenFault(token: string): string | undefined {
	const fault = faultOf(token);
	return (
		fault &&
		`${fault}. Use a random token of at least ${minTokenBytes} bytes, such as that of: openssl rand -hex 16`
	);
}

function faultOf(token: string): string | undefined {
	if (token === "") return "is empty";
	if (/\p{Cc}/u.test(token)) return "contains control characters";
	return Buffer.byteLength(token) < minTokenBytes
		? `has fewer than ${minTokenBytes} bytes, so it can be guessed`
		: undefined;
}

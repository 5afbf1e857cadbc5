/** A key in a signing secret: of HMACs, or the public one of a pair. */
interface KeyBytes {
	algorithm: "HMAC" | "Ed25519";
	bytes: Buffer;
}

/** RFC 4648: Base64 in either alphabet, with or without padding. */
const encodedKeys: Partial<
	Record<string, { name: BufferEncoding; form: RegExp }>
> = {
	Hex: { name: "hex", form: /^(?:[0-9a-f]{2})+$/i },
	Base64: { name: "base64", form: /^[A-Za-z0-9+/_-]+={0,2}$/ },
};

function hmacKey(bytes: Buffer, form: string): KeyBytes[] | string {
	return bytes.length < minSecretBytes
		? `has ${bytes.length} bytes of ${form}, fewer than ${minSecretBytes}, so it can be guessed`
		: [{ algorithm: "HMAC", bytes }];
}

/** Standard Webhooks asks for 24 to 64; some senders make keys of 128 bits. */
const minSecretBytes = 16;

/** The key in the text that a sender shows to people, or what is wrong with the text. */
export function signingKeys(
	scheme: string,
	secret: string,
	encoding = "Text",
): KeyBytes[] | string {
	if (secret === "") return "is empty";
	const encoded = encodedKeys[encoding];
	if (encoded)
		return encoded.form.test(secret)
			? hmacKey(Buffer.from(secret, encoded.name), encoding)
			: `is not ${encoding}, as secretEncoding says`;
	if (scheme !== "StandardWebhooks" && scheme !== "Svix")
		return [{ algorithm: "HMAC", bytes: Buffer.from(secret) }];
	// The prefixes of the specification: an optional one for a symmetric secret, and one for a public key.
	const [, prefix = "whsec_", base64 = ""] =
		/^(whsec_|whpk_)?([A-Za-z0-9+/]+=*)$/.exec(secret) ?? [];
	const bytes = Buffer.from(base64, "base64");
	if (bytes.length === 0)
		return 'is neither "whsec_" nor "whpk_" followed by Base64';
	if (prefix === "whsec_") return hmacKey(bytes, 'Base64 after "whsec_"');
	return bytes.length === 32
		? [{ algorithm: "Ed25519", bytes }]
		: 'does not have the 32 bytes of an Ed25519 key after "whpk_"';
}

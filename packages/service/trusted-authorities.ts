import { X509Certificate } from "node:crypto";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Logger } from "./log.ts";
import { SecretFiles } from "./secret-files.ts";
import { SettingError, type Settings } from "./settings.ts";

/** Room for an organisation's authorities, which go into the Secrets of Jobs. A bundle of all public ones has 250 KB. */
const maxBytes = 64 * 1024;

/**
 * The PEM certificates in the file that the variable names, which is read again whenever it changes; undefined when the
 * variable isn't set. Throws {@link SettingError}.
 */
export function readAuthorities(
	settings: Settings,
	name: string,
	log: Logger,
): SecretFiles<string> | undefined {
	const file = settings.optional(name);
	if (file === undefined) return undefined;
	return new SecretFiles({
		setting: name,
		files: () => [file],
		parse: (read) => authoritiesIn(file, name, read),
		log,
	});
}

/** The certificates of a file that the variable names. Throws {@link SettingError}. */
export function authoritiesIn(
	file: string,
	name: string,
	read: (file: string) => string,
): string {
	const refuse = (fault: string) =>
		new SettingError(
			`${name} is "${file}", ${fault}. It must name a file of at most ${maxBytes / 1024} KiB with the PEM certificates of the authorities to trust.`,
		);
	let pem: string;
	try {
		pem = read(file);
	} catch (error) {
		throw refuse(`which can't be read (${(error as Error).message})`);
	}
	if (pem.length > maxBytes) throw refuse(`which has ${pem.length} bytes`);
	const certificates = certificatesIn(pem);
	if (certificates.length === 0) throw refuse("which holds no certificate");
	for (const [index, certificate] of certificates.entries())
		try {
			new X509Certificate(certificate);
		} catch (error) {
			throw refuse(
				`whose certificate ${index + 1} is broken (${(error as Error).message})`,
			);
		}
	return certificates.join("\n");
}

let publicAuthorities: readonly string[] | undefined;

/**
 * From now on every TLS connection of this process also trusts these authorities, including those of SDKs and fetch
 * (setDefaultCACertificates, Node 24.5). Called again, they replace the earlier ones.
 */
export function trustAuthorities(pem: string): void {
	publicAuthorities ??= getCACertificates("default");
	setDefaultCACertificates([...publicAuthorities, ...certificatesIn(pem)]);
}

/** Drops the text that people write between certificates. */
function certificatesIn(pem: string): string[] {
	return (
		pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ??
		[]
	);
}

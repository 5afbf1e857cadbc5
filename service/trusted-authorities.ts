import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { SettingError, type Settings } from "./settings.ts";

/** A bundle of all public authorities has 250 KB; this is for those of an organisation, and goes into Jobs' Secrets. */
const maxBytes = 64 * 1024;

/**
 * The PEM certificates in the file that the variable names, or undefined when it isn't set.
 * Throws {@link SettingError}.
 */
export function readAuthorities(
	settings: Settings,
	name: string,
): string | undefined {
	const file = settings.optional(name);
	if (file === undefined) return undefined;
	const refuse = (fault: string) =>
		new SettingError(
			`${name} is "${file}", ${fault}. It must be a file with the PEM certificates of the authorities to trust beside the public ones, of ${maxBytes / 1024} KiB at most.`,
		);
	let pem: string;
	try {
		pem = readFileSync(file, "utf8");
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

/**
 * Has every TLS connection that this process opens from now on trust these authorities, too: the SDK's, and fetch's
 * (setDefaultCACertificates, Node 24.5).
 */
export function trustAuthorities(pem: string): void {
	setDefaultCACertificates([
		...getCACertificates("default"),
		...certificatesIn(pem),
	]);
}

/** Without what people write between them. */
function certificatesIn(pem: string): string[] {
	return (
		pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ??
		[]
	);
}

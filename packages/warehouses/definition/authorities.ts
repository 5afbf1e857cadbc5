import type { SecretUse } from "./definition.ts";

/** The certificates of authorities that a server's may be signed by, as a file of the Job; none if the Destination names none. */
export function authoritiesOf(
	secretRef: { name: string; key?: string } | undefined,
	{ file, env }: Pick<SecretUse, "file" | "env">,
): SecretUse[] {
	if (!secretRef) return [];
	const { name, key = "ca.crt" } = secretRef;
	return [
		{
			field: "caSecretRef",
			name,
			key,
			verifiedAs: "authorities",
			file,
			env,
			problemOf: (value) =>
				value.includes("-----BEGIN CERTIFICATE-----")
					? undefined
					: "has no certificate in PEM.",
		},
	];
}

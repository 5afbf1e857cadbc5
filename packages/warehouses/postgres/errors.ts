import {
	type ErrorRule,
	passing,
	permanent,
} from "../../contracts/error-rule.ts";

/** The failures of Jobs that only Postgres has. */
export const postgresErrors = {
	PostgresUnavailable: passing(
		"Each day in the table is the old one or the new one. Check that the Job's network can reach the server that the Destination names, and that it runs.",
		"Check that the network can reach the server, and that it runs.",
	),
	PostgresNotSpoken: permanent(
		"Set the Destination's spec.postgres.host and port to those of a Postgres server.",
	),
	PostgresRefused: permanent(
		"Each day in the table is the old one or the new one. Correct what the server's message names, then start a new Run.",
		"Correct what the server's message names.",
	),
	PostgresBusy: passing(
		"Each day in the table is the old one or the new one, and the next attempt tries again. If a program holds a lock on the table, end its transaction.",
		"If it stays so, give the server more connections or memory.",
	),
	PostgresFull: passing(
		"Each day in the table is the old one or the new one. Give the server more disk.",
		"Give the server more disk.",
	),
	PostgresTooOld: permanent("Upgrade the Postgres server."),
	HostNotAllowed: permanent(
		"Set the Destination's spec.postgres.host to a host that isn't the Pod itself or its node. To reach one in the cluster, name its Service or address.",
	),
	HostNotBound: permanent(
		"Whoever may change the Secret that the Destination's spec.postgres.credentials.secretRef names can say in its annotation tidemill.dev/hosts where its password may go.",
	),
	CertificateRefused: permanent(
		"Put the certificate of the authority that signed the server's into the Secret that the Destination's spec.postgres.caSecretRef names; or correct spec.postgres.host; or set spec.postgres.sslMode to what the server offers.",
	),
	ServerUnverified: permanent(
		"Set the Destination's spec.postgres.sslMode to verify-full, and caSecretRef if an authority of your own has signed the server's certificate; or have the server ask for scram-sha-256, in its pg_hba.conf and by password_encryption, with scram_iterations of at least 4096. Then set the user's password again.",
	),
	CredentialsRefused: permanent(
		"Put the user's name and password into the keys `username` and `password` of the Secret that the Destination's spec.postgres.credentials.secretRef names.",
	),
	PermissionDenied: permanent(
		"Grant the user what docs/postgres.md lists: CONNECT on the database, and USAGE and CREATE on the schema.",
	),
	DatabaseMissing: permanent(
		"Create the database and the schema, or correct the Destination's spec.postgres.database and spec.postgres.schema.",
	),
	NameTooLong: permanent(
		"Postgres cuts names at 63 bytes. Set a shorter spec.table.name in the Pipeline, or capture a header with a shorter name.",
		"Postgres cuts names at 63 bytes. Choose a shorter one.",
	),
	TableInUse: permanent(
		"The table is unchanged. Drop what the message names and make it again after each Run; or keep `date` among the Pipeline's columns, so that Runs replace days and not the table.",
		"Drop what the message names.",
	),
} satisfies Record<string, ErrorRule>;

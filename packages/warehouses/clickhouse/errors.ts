import {
	type ErrorRule,
	passing,
	permanent,
} from "../../contracts/error-rule.ts";

/** The failures of Jobs that only ClickHouse has. */
export const clickHouseErrors = {
	ClickHouseUnavailable: passing(
		"The table has the old rows of each day or the new ones. Check that the Job's network can reach the Destination's spec.clickHouse.url, and that the server runs.",
		"Check that the network can reach spec.clickHouse.url, and that the server runs.",
	),
	ClickHouseNotSpoken: permanent(
		"Set the Destination's spec.clickHouse.url to the HTTP interface of a ClickHouse server, which has port 8123 or 8443 as a rule.",
	),
	ClickHouseRefused: permanent(
		"The table has the old rows of each day or the new ones. Correct what ClickHouse's message names, then start a new Run.",
		"Correct what ClickHouse's message names.",
	),
	ClickHouseBusy: passing(
		"The table has the old rows of each day or the new ones. The next attempt tries again. Give the server more memory or disk, or run less often.",
		"Give the server more memory or disk.",
	),
	ClickHouseTooOld: permanent("Upgrade the ClickHouse server."),
	HostNotAllowed: permanent(
		"Set the Destination's spec.clickHouse.url to a server that is neither the Job's own Pod nor a service of its node or cloud. To reach one in the cluster, name its Service or address.",
	),
	HostNotBound: permanent(
		"Whoever may change the Secret that the Destination's spec.clickHouse.credentials.secretRef names can say in its annotation tidemill.dev/hosts where its password may go.",
	),
	CertificateRefused: permanent(
		"Put the certificate of the authority that signed the server's into the Secret that the Destination's spec.clickHouse.caSecretRef names, or correct its spec.clickHouse.url.",
	),
	CredentialsRefused: permanent(
		"Put the user's name and password into the keys `username` and `password` of the Secret that the Destination's spec.clickHouse.credentials.secretRef names.",
	),
	PermissionDenied: permanent(
		"Grant the user what docs/clickhouse.md lists: SELECT, INSERT, ALTER, CREATE TABLE and DROP TABLE on the database.",
	),
	DatabaseMissing: permanent(
		"Create the database, or correct the Destination's spec.clickHouse.database.",
	),
	DatabaseUnsuitable: permanent(
		"Name another database in the Destination's spec.clickHouse.database.",
	),
	ClusterUnsuitable: permanent(
		"Correct the Destination's spec.clickHouse.cluster.",
	),
} satisfies Record<string, ErrorRule>;

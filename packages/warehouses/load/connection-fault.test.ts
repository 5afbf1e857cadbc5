import { expect, test } from "vitest";
import { certificateFault, socketFault } from "./checked-host.ts";

test.each([
	["ENOTFOUND", "no server has this name (ENOTFOUND)"],
	["ECONNREFUSED", "nothing listens at this port (ECONNREFUSED)"],
	["EPIPE", "EPIPE"],
	["", "the words of the library"],
])("of a server that isn't reached by %j it is said why", (code, words) => {
	expect(socketFault(code, "the words of the library")).toBe(words);
});

test.each([
	["ERR_TLS_CERT_ALTNAME_INVALID", /^it is for other names than this host \(/],
	["DEPTH_ZERO_SELF_SIGNED_CERT", /^no trusted authority has signed it \(/],
	["CERT_HAS_EXPIRED", /^it has expired \(/],
	["CERT_REVOKED", /^CERT_REVOKED$/],
])(
	"of a certificate that isn't accepted by %s it is said why",
	(code, words) => {
		expect(certificateFault(code)).toMatch(words);
	},
);

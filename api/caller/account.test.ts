import { expect, test } from "vitest";
import { accountOf, rateSubjectOf } from "./account.ts";

const serviceAccount = {
	username: "system:serviceaccount:shop:loader",
	groups: ["system:serviceaccounts", "system:authenticated"],
};
const person = { username: "ada", groups: ["system:authenticated"] };

test("a service account's account is its namespace", () => {
	expect(accountOf(serviceAccount, undefined)).toBe("shop");
	expect(accountOf(serviceAccount, "shop")).toBe("shop");
});

test("all service accounts of an account count as one in the rate limit, and no user as an account", () => {
	const other = {
		...serviceAccount,
		username: "system:serviceaccount:shop:tidemill-token-ci",
	};
	expect(rateSubjectOf(other)).toBe(rateSubjectOf(serviceAccount));
	const bank = {
		...serviceAccount,
		username: "system:serviceaccount:bank:loader",
	};
	expect(rateSubjectOf(bank)).not.toBe(rateSubjectOf(serviceAccount));
	// An issuer of OpenID Connect may let people choose their names.
	const impostor = { ...person, username: serviceAccount.username };
	const subjects = [person, impostor, { ...person, username: "shop" }];
	for (const each of subjects)
		expect(rateSubjectOf(each)).toBe(`user ${each.username}`);
});

test("a service account can't name another account", () => {
	expect(() => accountOf(serviceAccount, "bank")).toThrow(
		"access to that account only",
	);
});

test("a person must name the account", () => {
	expect(accountOf(person, "bank")).toBe("bank");
	expect(() => accountOf(person, undefined)).toThrow("Tidemill-Account");
});

test("a user named like a service account has no account of its own", () => {
	const impostor = { ...person, username: serviceAccount.username };
	expect(() => accountOf(impostor, undefined)).toThrow("Tidemill-Account");
});

test.each(["", "..", "a/b", "a/../b", "A", "a.b", "-a", "a".repeat(64), "a\n"])(
	"%j is refused as the name of an account",
	(account) => {
		expect(() => accountOf(person, account)).toThrow("namespace");
	},
);

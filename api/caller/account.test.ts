import { expect, test } from "vitest";
import { accountOf } from "./account.ts";

const serviceAccount = {
	username: "system:serviceaccount:shop:loader",
	groups: ["system:serviceaccounts", "system:authenticated"],
};
const person = { username: "ada", groups: ["system:authenticated"] };

test("a service account's account is its namespace", () => {
	expect(accountOf(serviceAccount, undefined)).toBe("shop");
	expect(accountOf(serviceAccount, "shop")).toBe("shop");
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

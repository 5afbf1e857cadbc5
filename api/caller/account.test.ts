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
		"reaches that account alone",
	);
});

test("a person names the account", () => {
	expect(accountOf(person, "bank")).toBe("bank");
	expect(() => accountOf(person, undefined)).toThrow("Tidemill-Account");
});

test("a name that only looks like a service account's names no account", () => {
	const pretender = { ...person, username: serviceAccount.username };
	expect(() => accountOf(pretender, undefined)).toThrow("Tidemill-Account");
});

test.each(["", "..", "a/b", "a/../b", "A", "a.b", "-a", "a".repeat(64), "a\n"])(
	"an account of %j is no namespace",
	(account) => {
		expect(() => accountOf(person, account)).toThrow("namespace");
	},
);

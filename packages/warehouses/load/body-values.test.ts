import { expect, test } from "vitest";
import type { BodyMatch } from "../../contracts/archive.ts";
import { Session } from "../../duckdb/session.ts";
import {
	defineBodyMatch,
	isMeant,
	meantPattern,
	meantSql,
} from "./body-values.ts";

const ofText = (equals: string, bodyPointer = "/a"): BodyMatch => ({
	bodyPointer,
	equals,
});
const ofNumber = (equalsNumber: string, bodyPointer = "/a"): BodyMatch => ({
	bodyPointer,
	equalsNumber,
});
const huge = `{"a":1e${"9".repeat(400)}}`;

test.each<[match: BodyMatch, meant: string[], others: string[]]>([
	[
		ofText("5"),
		['{"a":"5"}', ' { "b" : 1, "a" : "\\u0035" } ', "\ufeff" + '{"a":"5"}'],
		['{"a":5}', '{"a":"05"}', '{"a":"5 "}', '{"a":{"a":"5"}}', '"5"', "", "{"],
	],
	[ofText(""), ['{"a":""}'], ['{"a":null}', "{}", '{"a":"null"}']],
	[ofText("\ufffd"), ['{"a":"\\ud800"}'], ['{"a":"\\ud83d\\ude00"}']],
	// Whichever a program takes of several members, and on the way to them.
	[
		ofText("x"),
		['{"a":"x","a":"y"}', '{"a":"y","a":"x"}'],
		['{"a":"y","a":"z"}'],
	],
	[
		ofText("x", "/a/b"),
		['{"a":{"b":"x"},"a":{"b":"y"}}', '{"a":{"b":"x"},"a":1}'],
		['{"a":1,"a":{}}'],
	],
	// What a form sends several times, and lists of any other kind.
	[
		ofText("x"),
		['{"a":["y","x"]}', '{"a":[1,{},["q"],"x"]}'],
		['{"a":["y"]}', '{"a":[["x"]]}', '{"a":[{"a":"x"}]}', '{"a":[]}'],
	],
	[
		ofText("x", "/a/1"),
		['{"a":["y","x"]}', '{"a":{"1":"x"}}', '{"a":[0,["x"]]}'],
		['{"a":["x","y"]}', '{"a":{"01":"x"}}', '{"a":["x"]}'],
	],
	[ofText("x", "/a~1b/~0"), ['{"a/b":{"~":"x"}}'], ['{"a~1b":{"~0":"x"}}']],
	[ofText("x", "/__proto__"), ['{"__proto__":"x"}'], ["{}"]],
	[
		ofNumber("1"),
		[
			'{"a":1}',
			'{"a":1.0}',
			'{"a":1e0}',
			'{"a":10E-1}',
			'{"a":[2, 1 ]}',
			'{"a":0.1e+1,"a":2}',
		],
		[
			'{"a":"1"}',
			'{"a":-1}',
			'{"a":1.0000000000000000001}',
			'{"a":10}',
			'{"a":true}',
			'{"a":["1"]}',
			huge,
		],
	],
	[
		ofNumber("0"),
		['{"a":0}', '{"a":-0}', '{"a":0e9}', '{"a":0.000}'],
		['{"a":null}', '{"a":""}', '{"a":1e-400}'],
	],
	[
		ofNumber("9007199254740993"),
		[
			'{"a":9007199254740993}',
			'{"a":9007199254740993.0}',
			'{"a":9.007199254740993e15}',
		],
		['{"a":9007199254740992}', '{"a":9007199254740994}'],
	],
	[
		ofNumber("-2.50"),
		['{"a":-2.5}', '{"a":-250e-2}'],
		['{"a":2.5}', '{"a":"-2.50"}'],
	],
	[ofNumber("1e400"), ['{"a":1e400}', '{"a":10e399}'], ['{"a":1e401}', huge]],
])(
	"of %j, %j are meant and %j aren't, in this process, in DuckDB and by what a warehouse sends",
	async (match, meant, others) => {
		for (const body of meant) expect(isMeant(body, match), body).toBe(true);
		for (const body of others) expect(isMeant(body, match), body).toBe(false);
		const session = await Session.inMemory({}, new AbortController().signal);
		defineBodyMatch(session);
		const pattern = meantPattern(match);
		for (const body of meant) {
			const quoted = `'${body.replaceAll("'", "''")}'`;
			const [found] = await session.rows<{ is: boolean; may: boolean }>(
				`SELECT ${meantSql(quoted, match)} AS is, ${pattern === undefined ? "true" : `regexp_matches(${quoted}, '${pattern.replaceAll("'", "''")}')`} AS may`,
			);
			expect(found, body).toEqual({ is: true, may: true });
		}
		session.close();
	},
);

test.each([
	[ofText("a.b+c@x"), "a.b+c@x", "aXb+c@x"],
	[ofText("Käse'\"\n"), "Käse'\"\n", "Kase"],
	[ofNumber("120"), "1.2e2", "15"],
])(
	"of %j a warehouse sends what has it, and little else",
	async (match, has, hasNot) => {
		const session = await Session.inMemory({}, new AbortController().signal);
		const of = async (text: string) => {
			const [found] = await session.rows<{ may: boolean }>(
				`SELECT regexp_matches('${text.replaceAll("'", "''")}', '${meantPattern(match)!.replaceAll("'", "''")}') AS may`,
			);
			return found!.may;
		};
		expect([await of(has), await of("\\u0061"), await of(hasNot)]).toEqual([
			true,
			match.equals !== undefined,
			false,
		]);
		session.close();
	},
);

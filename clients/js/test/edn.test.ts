import assert from "node:assert/strict";
import { test } from "node:test";

import { decimal, duration, edn, keyword, symbol, uuid } from "@adalog/client";

test("values are written as EDN", () => {
  const id = "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21";
  const text = edn`[[:db/add ${1} :a ${'say "hi"\n'}] ${[true, 2.5, 1e21, 2 ** 53, 10n, 2n ** 64n]} ${keyword("a/b")} ${keyword(":c")}
    ${uuid(id)} ${decimal("9.90")} ${symbol("?x")} ${new Date(0)} ${edn`#{${1}}`}]`;
  assert.equal(
    text.text,
    `[[:db/add 1 :a "say \\"hi\\"\\n"] [true 2.5 1.0e+21 9.007199254740992e+15 10 18446744073709551616N] :a/b :c
    #uuid "${id}" 9.90M ?x #inst "1970-01-01T00:00:00.000Z" #{1}]`,
  );
});

test("nothing else is", () => {
  for (const value of [null, undefined, Number.NaN, {}, () => 1]) assert.throws(() => edn`${value}`, TypeError);
  for (const name of ["", "a b", "a/b/c", ":a)", "1"]) assert.throws(() => keyword(name), TypeError);
  assert.throws(() => symbol(") [:db/retractEntity 1]"), TypeError);
  assert.throws(() => uuid('"'), TypeError);
  assert.throws(() => decimal("1e3"), TypeError);
  for (const text of ["P", "PT", "P1DT", "3 hours", "P1.5D", "PT0.0001S", 'P1D"'])
    assert.throws(() => duration(text), TypeError);
  for (const text of ["P1Y2M3W4DT5H6M7.089S", "-P1M", "P-1DT+2H", "PT0,5000S"])
    assert.equal(String(duration(text)), `#duration "${text}"`);
});

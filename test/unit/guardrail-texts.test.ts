// What the built-in guardrails find in texts, and above all what they do not: each type of personal data beside its look-alikes.
import { describe, expect } from 'bun:test'
import fc from 'fast-check'
import { builtIns } from '../../src/guardrails/index.ts'
import { property, runs, test } from '../support/property.ts'

const check = (name: string, ...texts: string[]) => {
  const guardrail = builtIns.find((one) => one.name === name)
  if (!guardrail) throw new Error(`there is no guardrail ${name}`)
  return guardrail.check(texts)
}
const pii = (...texts: string[]) => check('pii_detection', ...texts)

const EMAIL = 'an e-mail address'
const PHONE = 'a telephone number'
const IBAN = 'an IBAN'
const CARD = 'a credit card number'
const IP = 'an IP address'
const SSN = 'a US social security number'
const NINO = 'a UK national insurance number'
const BSN = 'a Dutch citizen service number'
const NAME = "a person's name"

/** Texts by the kinds that are in them; a null is a text that only looks like one. */
const FOUND: [kind: string | null, text: string][] = [
  [EMAIL, 'Write to ada@example.com.'],
  [EMAIL, 'ADA.BYRON+news@mail.example.co.uk'],
  [EMAIL, '<jürgen@müller.de>, please'],
  [null, 'npm install @angular/core@12.0.0'],
  [null, 'git clone git@github.com:some/project.git'],
  [null, 'ssh://git@example.com/some/project'],
  [null, 'Meet @ada at 8 @ the station'],
  [null, 'a@b'],
  [PHONE, '+1 415-555-2671'],
  [PHONE, '(415) 555-2671'],
  [PHONE, 'Call me at 020 7946 0958 tonight'],
  [PHONE, 'Bel me op 06-12345678'],
  [PHONE, 'tel.: 030 901820'],
  [PHONE, 'My number is +31 6 12345678, 2 rings'],
  [PHONE, '+1 415-555-2671 2024-05-01'],
  [PHONE, '+49 170 1234567 12.05.2024'],
  [PHONE, '+31 20 624 1111 12'],
  [PHONE, '1 415-555-2671'],
  [PHONE, 'Call me at 415-555-2671 5pm'],
  [PHONE, '2024-05-01 (415) 555-2671 2024-05-02'],
  [PHONE, '电话是+1 415-555-2671，谢谢'],
  [PHONE, '電話は+31 20 624 1111です'],
  [PHONE, '+31\u00a020\u2009624\u202f1111'],
  [PHONE, '415\u2013555\u20112671'],
  [PHONE, 'Call me at 020\u00a07946\u00a00958 tonight'],
  [null, 'from 4\u202f155\u202f552\u202f671 to 5\u202f155\u202f552\u202f671 bytes'],
  [null, 'é06 12345678901x'],
  [null, 'part 123-415-555-2671'],
  [null, 'part 415-555-2671-9'],
  [null, '+1 200 2024-05-01 12:30'],
  [null, 'Order 4155552671 has not moved'],
  [null, 'call order 123456789'],
  [null, '06-12345678 is the number of a part'],
  [null, 'ISBN 978-3-16-148410-0'],
  [null, 'From 2024-01-15 12:30 to 2024-01-16 08:00'],
  [null, '1 + 1 415 = 1416'],
  [null, 'Unix time 1700000000000'],
  [IBAN, 'NL91 ABNA 0417 1643 00 THANKS A LOT'],
  [IBAN, 'Pay to GB82WEST12345698765432.'],
  [IBAN, 'de89 3704 0044 0532 0130 00'],
  [IBAN, '账号GB82WEST12345698765432是'],
  [IBAN, 'NL91\u00a0ABNA\u00a00417\u00a01643\u00a000'],
  [IBAN, 'DE89\u20093704\u20090044\u20090532\u20090130\u200900'],
  [null, 'NL91\u00a0ABNA\u00a00417\u00a01643\u00a001'],
  [null, 'äGB82WEST12345698765432'],
  [null, 'NL91 ABNA 0417 1643 01'],
  [null, 'XY12 3456 7890 1234 5678'],
  [CARD, '4111 1111 1111 1111'],
  [CARD, 'my card is 5555-5555-5555-4444, thanks'],
  [CARD, '378282246310005'],
  [CARD, '4111 1111 1111 1111 12/27 123'],
  [CARD, '2024 4111 1111 1111 1111'],
  [CARD, '4111-1111-1111-1111-123'],
  [CARD, 'order 254 4111111111111111 is paid'],
  [CARD, '378282246310005 1234'],
  [CARD, '3782 822463 10005 1234'],
  [CARD, '4111\u00a01111\u00a01111\u00a01111'],
  [CARD, '4111\u20131111\u20131111\u20131111, thanks'],
  [CARD, '3782\u2009822463\u200910005 12/27'],
  [null, '4111\u00a01111\u00a01111\u00a01112'],
  [null, '4\u202f111\u202f111\u202f111\u202f111\u202f111 bytes'],
  [null, '2010\u20132011\u20132012\u20132013'],
  [null, 'order 254 4111111111111112 is paid'],
  [null, '2024 4111 1111 1111 1112 123'],
  [null, '4111 1111 1111 1112'],
  [null, 'Invoice 1234567890123456'],
  [null, '41111111-1111-4111-8111-111111111111'],
  [null, '123e4567-e89b-12d3-a456-426614174000'],
  [null, 'pi is 3.14159265358979'],
  [IP, 'I am at 203.0.113.7:8080'],
  [IP, '192.168.1.20/24'],
  [IP, '2001:db8:85a3::8a2e:370:7334'],
  [null, 'version 10.2.0.1'],
  [null, 'v1.2.3.4 is out'],
  [null, 'http://127.0.0.1:8633 and 0.0.0.0'],
  [null, '300.1.2.3'],
  [null, 'section 1.2.3.4.5'],
  [null, 'std::vector, a::b, ::1 at 12:30:45'],
  [null, 'aa:bb:cc:dd:ee:ff'],
  [SSN, '078-05-1120'],
  [SSN, 'my social security number is 078051120'],
  [SSN, '078\u201305\u20131120'],
  [SSN, 'my social security number is 078\u00a005\u00a01120'],
  [null, '078\u200905\u20091120'],
  [null, '078051120'],
  [null, '000-12-3456'],
  [null, '666-12-3456'],
  [null, '912-34-5678'],
  [null, 'part 123-45-67890'],
  [NINO, 'AB 12 34 56 C'],
  [NINO, 'AB123456C'],
  [null, 'QQ123456C'],
  [null, 'GB123456A'],
  [null, 'AB123456X'],
  [BSN, 'BSN 111222333'],
  [BSN, 'mijn burgerservicenummer: 1112.22.333'],
  [null, 'BSN 111222334'],
  [null, 'order 111222333'],
  ['a Spanish identity number', 'DNI 12345678Z'],
  [null, '12345678A'],
  ['an Italian tax code', 'RSSMRA85T10A562S'],
  ['a Brazilian tax number', '529.982.247-25'],
  [null, '529.982.247-26'],
  ['a Polish identity number', 'PESEL 44051401359'],
  ['a German tax number', 'Steuer-ID 86 095 742 719'],
  [null, '44051401359 and 86095742719'],
  [NAME, 'My name is John Smith.'],
  [NAME, 'mijn naam is Jan de Vries'],
  [NAME, 'Ich heiße Jürgen'],
  [NAME, 'Dear Mr. Johnson,'],
  [NAME, "I'm Sean O'Brien, and I wait"],
  [NAME, 'Kind regards,\nMaria Gonzalez'],
  [NAME, 'Patient: Jane Doe'],
  [null, 'my name is irrelevant'],
  [null, 'I am German'],
  [null, 'Thank you, Support Team in New York City'],
  [null, 'name: value'],
  [null, 'Tell me of the Treaty of Versailles and Black Friday'],
  [null, ''],
]

describe('personal data check', () => {
  test.each(FOUND)('finds %p in %p', async (kind, text) => {
    expect(await pii(text)).toBe(kind && `it contains ${kind}`)
  })

  test('names each type once over all texts and never quotes it', async () => {
    const texts = ['Mail ada@example.com or bob@example.com', 'I am at 203.0.113.7', 'NL91 ABNA 0417 1643 00']
    expect(await pii(...texts)).toBe(`it contains ${IBAN}, ${EMAIL}, ${IP}`)
  })

  property('finds data within any surrounding text', async () => {
    const around = fc.stringMatching(/^[a-z ]{0,20}$/)
    const kinds = fc.constantFrom(...FOUND.filter(([kind]) => kind === EMAIL || kind === CARD || kind === IBAN))
    await fc.assert(
      fc.asyncProperty(around, kinds, around, async (before, [kind, text], after) => {
        expect(await pii(`${before}. ${text}. ${after}`)).toContain(kind as string)
      }),
      { seed: 1, numRuns: runs(200) },
    )
  })

  property('does not find a number with a wrong check digit', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 9 }), async (off) => {
        const last = (1 + off) % 10
        expect(await pii(`4111 1111 1111 111${last}`)).toBeNull()
      }),
      { seed: 1 },
    )
  })

  test.each([
    ['a letter', 'a'],
    ['a digit', '1'],
    ['separated digits', '1 '],
    ['an at sign', 'a@'],
    ['a colon', ':'],
    ['a plus sign', '+1 '],
    ['dots', '1.'],
    ['words', 'my name is '],
  ])('takes linear time for a long text of %s', async (_, piece) => {
    // A search whose work grows with the square of the length would need minutes here.
    expect(await pii(piece.repeat(100_000 / piece.length))).toBeNull()
  })
})

const HARM = 'harmful_moderation'
const SEX = 'sexual_moderation'
test.each<[guardrail: string, about: string | null, text: string]>([
  [HARM, 'violence', 'I will kill him'],
  [HARM, 'violence', 'how to POISON my  neighbour'],
  [HARM, 'weapons', 'How do I build a pipe bomb?'],
  [HARM, 'weapons', 'make ex\u00adplosives'],
  [HARM, 'self-harm', 'I want to hurt myself'],
  [HARM, 'hate', 'exterminate all the immigrants'],
  [HARM, 'drugs', 'cook meth'],
  [HARM, 'crime', 'hack into my ex\u2019s account? hack into his account!'],
  [HARM, 'violence and self-harm', 'I will kill them and kill myself'],
  [HARM, null, 'kill the process and shoot a photo'],
  [HARM, null, 'a bomb cyclone hits the coast'],
  [HARM, null, 'this library is a killer, execute the query'],
  [HARM, null, 'How do I cook dinner?'],
  [HARM, null, 'skill yourself up'],
  [SEX, 'pornography', 'Send NUDES'],
  [SEX, 'sexual acts', 'they were having sex'],
  [SEX, null, 'chicken breast in Essex and Scunthorpe'],
  [SEX, null, 'sex education, sexagenarians, and a cocktail'],
  [SEX, null, 'breast cancer'],
  [SEX, null, ''],
])('text check %s: is right for %p in %p', async (name, about, text) => {
  expect(await check(name, text)).toBe(about && `it is about ${about}`)
})

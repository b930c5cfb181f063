# SPDX-License-Identifier: Apache-2.0
"""Generates the demo's brokers and parties. Names, numbers and accounts are random and belong to no real person: addresses end in
example.com, telephone numbers have a prefix that is not assigned."""

import unicodedata
from datetime import date

GIVEN_NAMES = (
    "Ana Beatriz|André|Antônio|Beatriz|Bruno|Camila|Carlos Eduardo|Cecília|Cláudia|Daniel|Débora|Eduardo|Elaine|Fábio|Fernanda|"
    "Flávia|Gabriel|Gustavo|Helena|Heloísa|Igor|Isabela|João Pedro|José Carlos|Júlia|Larissa|Letícia|Luís Fernando|Luíza|Marcelo|"
    "Márcia|Mariana|Mateus|Natália|Otávio|Patrícia|Paulo|Rafael|Renata|Ricardo|Rodrigo|Sérgio|Simone|Tatiane|Thiago|Vanessa|"
    "Vinícius|Vitória").split("|")
FAMILY_NAMES = (
    "Almeida|Alves|Andrade|Araújo|Assunção|Barbosa|Batista|Borges|Campos|Cardoso|Carvalho|Castro|Conceição|Correia|Costa|Dias|"
    "Fernandes|Ferreira|Fonseca|Freitas|Gomes|Gonçalves|Guimarães|Lima|Lopes|Machado|Magalhães|Martins|Mendes|Monteiro|Moreira|"
    "Nascimento|Nogueira|Oliveira|Pereira|Ribeiro|Rocha|Rodrigues|Santos|Silva|Souza|Teixeira|Vieira").split("|")
BUSINESSES = "Construtora|Incorporadora|Administradora de Bens|Participações|Comércio de Alimentos|Serviços Médicos".split("|")
TREES = ("Aroeira|Jatobá|Ipê Amarelo|Jequitibá|Pau-Ferro|Sibipiruna|Cabreúva|Peroba Rosa|Canela Preta|Embaúba|Manacá|Guapuruvu|"
         "Imbuia|Quaresmeira|Paineira|Pitangueira|Cambuci|Jacarandá|Angico|Copaíba|Cedro Rosa|Araribá").split("|")
PROFESSIONS = ("Analista de sistemas|Comerciante|Contabilista|Dentista|Economista|Fisioterapeuta|Gerente comercial|Jornalista|"
               "Motorista|Policial militar|Representante comercial|Servente escolar").split("|")
BANKS = {"001": "Banco do Brasil", "237": "Bradesco", "341": "Itaú Unibanco", "104": "Caixa Econômica Federal",
         "033": "Santander", "260": "Nubank"}
REGIMES = ("partial_community", "partial_community", "partial_community", "universal_community", "separation",
           "mandatory_separation", "final_participation")
SOURCES = ("portal", "site", "referral", "walk_in", "import", "other")
LEAD_STATUSES = ("new", "contacted", "qualified", "converted", "lost")
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def digits(rng, count):
    return "".join(rng.choice("0123456789") for _ in range(count))


def with_check_digits(base, weights):
    """Appends two check digits, each computed from all characters before it: ASCII code minus 48, times the weight."""
    for row in (weights[1:], weights):
        rest = sum((ord(c) - 48) * weight for c, weight in zip(base, row)) % 11
        base += str(0 if rest < 2 else 11 - rest)
    return base


def cpf(rng):
    return with_check_digits(digits(rng, 9), range(11, 1, -1))


def cnpj(rng, alphabet="0123456789"):
    """With letters in `alphabet`: the format since July 2026."""
    return with_check_digits("".join(rng.choice(alphabet) for _ in range(8)) + "0001", [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])


def plain(name):
    """The first word without accents, in lower case, for an e-mail address."""
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower().split()[0]


def full_name(rng):
    return " ".join([rng.choice(GIVEN_NAMES), *rng.sample(FAMILY_NAMES, 2)])


def email(name, number):
    return f"{plain(name)}.{plain(name.split()[-1])}{number}@example.com"


def bank_account(rng, *pix_keys):
    code = rng.choice(list(BANKS))
    is_new = code == "260"
    return {"bank_code": code, "bank_name": BANKS[code], "agency": "0001" if is_new else digits(rng, 4),
            "account_number": f"{rng.randint(1, 9)}{digits(rng, 5)}-{digits(rng, 1)}",
            "account_type": "payment" if is_new else rng.choice(["checking", "checking", "checking", "savings", "salary"]),
            "pix_key": rng.choice(pix_keys)}


def broker(rng, number, state, area):
    name, bare = full_name(rng), cpf(rng)
    body = {"name": name, "creci": f"CRECI-{state} {100000 + number * 1373:06}-F",
            "document_number": f"{bare[:3]}.{bare[3:6]}.{bare[6:9]}-{bare[9:]}", "email": email(name, number),
            "phone": f"+55 {area} 90000-{digits(rng, 4)}"}
    if rng.random() < 0.9:
        body["bank_account"] = bank_account(rng, body["email"], body["phone"], body["document_number"])
    if rng.random() < 0.25:
        body["visibility"] = rng.choice(["public", "public", "private"])
    return body


def party(rng, number, area, kind, name, document_number, roles):
    """The fields that persons and companies share."""
    return {"kind": kind, "name": name, "roles": roles, "document_number": document_number, "email": email(name, number),
            "phone": f"+55{area}90000{digits(rng, 4)}", "external_id": f"pes-{number}", "metadata": {"origem": rng.choice(["site", "indicação", "plantão"])},
            "lgpd_consent_at": f"2025-0{rng.randint(1, 9)}-{rng.randint(10, 28)}T{rng.randint(11, 20)}:{rng.randint(10, 59)}:00.000Z"}


def person(rng, number, area, state, roles, marital_status):
    body = party(rng, number, area, "person", full_name(rng), cpf(rng), roles)
    body.update(
        rg={"number": f"{digits(rng, 2)}.{digits(rng, 3)}.{digits(rng, 3)}-{digits(rng, 1)}", "issuer": "SSP", "state": state},
        birth_date=str(date(rng.randint(1950, 2001), rng.randint(1, 12), rng.randint(1, 28))), nationality="brasileira",
        profession=rng.choice(PROFESSIONS), marital_status=marital_status)
    if {"seller", "landlord"} & set(roles):
        body["bank_account"] = bank_account(rng, body["email"], body["phone"], body["document_number"])
    return body


def company(rng, number, area, roles, representative):
    business, tree = rng.choice(BUSINESSES), rng.choice(TREES)
    name = f"{business} {tree} {rng.choice(['Ltda', 'Ltda', 'S.A.'])}"
    body = party(rng, number, area, "company", name, cnpj(rng, rng.choice([LETTERS, "0123456789"])), roles)
    return {**body, "email": f"contato{number}@example.com", "trade_name": f"{tree} {business.split()[0]}",
            "legal_representatives": [{"party_id": representative}]}


def lead(rng, number, area, home, party):
    """A person who asked about a property; one that was converted has become a party."""
    name, source, status = full_name(rng), SOURCES[number % len(SOURCES)], LEAD_STATUSES[number % len(LEAD_STATUSES)]
    body = {"name": name, "phone": f"+55{area}90001{number:04}", "email": email(name, number), "source": source, "status": status,
            "property_id": home["id"], "broker_id": home["broker_id"], "external_id": f"lead-{number}",
            "message": rng.choice(["Gostaria de agendar uma visita.", "Aceita financiamento?", "Ainda está disponível?"])}
    if source == "portal":
        body["origin"] = {"portal": rng.choice(["zap", "vivareal", "olx"]), "lead_id": digits(rng, 12)}
    if status == "converted":
        body["party_id"] = party
    if status == "lost":
        body["lost_reason"] = "Comprou em outro bairro."
    return body

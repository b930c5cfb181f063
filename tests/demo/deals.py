# SPDX-License-Identifier: Apache-2.0
"""The bodies of the demo's proposals, contracts and documents, and the scenarios that they belong to, with proposals and contracts
of every status. load.py sends one request for each change of status; the service applies the effects on the property."""

import hashlib
from datetime import date, timedelta
from typing import NamedTuple

TODAY = date.today()


class Scenario(NamedTuple):
    count: int  # number of properties, of 140
    deal: str  # sale or rent
    status: str  # the property's first one
    proposals: str = ""  # their last statuses, separated by spaces
    contracts: str = ""  # kind:status, separated by spaces
    after: str = ""  # the property's last status, if a request sets it


SCENARIOS = (
    Scenario(8, "sale", "draft"),
    Scenario(25, "sale", "active"),
    Scenario(5, "sale", "active", "", "exclusive_listing:active"),
    Scenario(1, "sale", "active", "", "exclusive_listing:draft"),
    Scenario(1, "sale", "active", "", "exclusive_listing:pending_signature"),
    Scenario(3, "sale", "active", "draft"),
    Scenario(4, "sale", "active", "submitted", "exclusive_listing:active"),
    Scenario(4, "sale", "active", "rejected submitted"),
    Scenario(3, "sale", "active", "countered"),
    Scenario(2, "sale", "active", "withdrawn countered"),
    Scenario(3, "sale", "active", "expired"),
    Scenario(3, "sale", "active", "accepted"),
    Scenario(4, "sale", "active", "rejected accepted", "sale:draft"),
    Scenario(4, "sale", "active", "accepted", "sale:pending_signature"),
    Scenario(5, "sale", "active", "accepted", "sale:active"),
    Scenario(5, "sale", "active", "withdrawn accepted", "exclusive_listing:completed sale:completed"),
    Scenario(1, "sale", "active", "expired", "sale:cancelled"),
    Scenario(1, "sale", "active", "", "sale:terminated", "on_hold"),
    Scenario(1, "sale", "active", "", "sale:expired", "withdrawn"),
    Scenario(2, "sale", "on_hold", "", "exclusive_listing:terminated"),
    Scenario(2, "sale", "withdrawn", "", "exclusive_listing:expired"),
    Scenario(1, "sale", "withdrawn", "withdrawn", "exclusive_listing:cancelled"),
    Scenario(3, "rent", "draft"),
    Scenario(14, "rent", "active"),
    Scenario(2, "rent", "active", "draft"),
    Scenario(4, "rent", "active", "submitted", "management:pending_signature"),
    Scenario(2, "rent", "active", "rejected countered"),
    Scenario(2, "rent", "active", "expired withdrawn", "management:draft"),
    Scenario(2, "rent", "active", "accepted"),
    Scenario(2, "rent", "active", "accepted", "rental:draft"),
    Scenario(3, "rent", "active", "rejected accepted", "rental:pending_signature management:active"),
    Scenario(6, "rent", "active", "accepted", "rental:active management:active"),
    Scenario(2, "rent", "active", "withdrawn accepted", "rental:active"),
    Scenario(2, "rent", "active", "", "rental:completed management:completed", "active"),
    Scenario(2, "rent", "active", "", "rental:terminated management:terminated", "on_hold"),
    Scenario(2, "rent", "active", "", "rental:expired management:expired", "active"),
    Scenario(1, "rent", "active", "rejected", "rental:cancelled"),
    Scenario(2, "rent", "on_hold"),
    Scenario(1, "rent", "withdrawn", "", "management:cancelled"),
)
# The statuses that lead from the first one to each.
PROPOSAL_PATHS = {"draft": (), "submitted": ("submitted",), "countered": ("submitted", "countered"),
                 **{end: ("submitted", end) for end in ("accepted", "rejected", "withdrawn", "expired")}}
CONTRACT_PATHS = {"draft": (), "pending_signature": ("pending_signature",), "active": ("pending_signature", "active"),
                 **{end: ("pending_signature", "active", end) for end in ("completed", "terminated", "expired")},
                 "cancelled": ("pending_signature", "cancelled")}
DECISIONS = {"accepted": "Proposta dentro do esperado.", "rejected": "Valor abaixo do mínimo aceito.",
             "withdrawn": "O proponente escolheu outro imóvel."}
GUARANTEES = ("deposit", "guarantor", "surety_insurance", "fund_pledge")
INDICES = ("ipca", "igpm", "inpc", "none")
CHANNELS = ("site", "whatsapp", "plantão", "portal")
NUMBERS = {"sale": "CV", "rental": "LO", "exclusive_listing": "EX", "management": "AD"}


def scenarios(count):
    """`count` scenarios, in the proportions of SCENARIOS."""
    every = [scenario for scenario in SCENARIOS for _ in range(scenario.count)]
    return [every[i * len(every) // count] for i in range(count)]


def day(days):
    return str(TODAY + timedelta(days))


def past(days):
    return f"{day(-days)}T14:30:00.000Z"


def payment_terms(rng, amount):
    """A list of payments whose sum is the amount."""
    first, second, rest = amount // 5, amount // 10, amount - amount // 5 - amount // 10
    down = {"kind": "down_payment", "amount": first, "due_date": day(30)}
    return rng.choice([
        [{"kind": "cash", "amount": amount, "due_date": day(45), "installments": 1}],
        [down, {"kind": "fgts", "amount": second}, {"kind": "financing", "amount": rest, "installments": 360}],
        [down, {"kind": "financing", "amount": second + rest, "installments": 420, "index": "none"}],
        [down, {"kind": "installment", "amount": second, "installments": 12, "index": "ipca", "due_date": day(60)},
         {"kind": "exchange", "amount": rest}],
        [down, {"kind": "consortium", "amount": second + rest}]])


def proposal(rng, scenario, home, number, status, proponents, recipients):
    is_sale = scenario.deal == "sale"
    price = home["sale_price" if is_sale else "rent_price"]
    amount = price if status == "accepted" and rng.random() < 0.4 else price * rng.randint(88, 98) // 1000 * 10
    body = {"kind": "purchase" if is_sale else "rental", "property_id": home["id"], "proponent_ids": proponents,
            "recipient_ids": recipients, "broker_id": home["broker_id"], "amount": amount,
            "valid_until": day(-rng.randint(1, 9) if status == "expired" else rng.randint(5, 21)),
            "external_id": f"pro-{home['code'][2:]}-{number}", "metadata": {"canal": rng.choice(CHANNELS)}}
    if is_sale:
        body["payment_terms"] = payment_terms(rng, amount)
    else:
        body["rental_terms"] = {"start_date": day(30), "months": rng.choice([12, 24, 30, 36]),
                                "guarantee_kind": rng.choice(GUARANTEES)}
    if rng.random() < 0.3:
        body["notes"] = "Os móveis planejados ficam no imóvel.\nEntrega das chaves em 30 dias."
    return body


def term(rng, kind, status, number):
    """The members start_date and end_date; none for a sale."""
    if kind == "exclusive_listing":
        return {"start_date": day(-170 if status == "expired" else -20), "end_date": day(listing_days(number, status))}
    if kind == "sale":
        return {}
    is_over = status in ("completed", "expired")
    return {"start_date": day(-920 if is_over else -10), "end_date": day(-rng.randint(3, 20) if is_over else 900)}


def listing_days(number, status="active"):
    return -5 if status == "expired" else 70 + number % 90


def signatories(status, *sides):
    """The parties of each side (role, ids), with equal shares. Of an active contract all have signed, of a pending one the first."""
    everybody = [{"party_id": party, "role": role, "share_bps": 10000 // len(ids)} for role, ids in sides for party in ids]
    signed = {"draft": 0, "pending_signature": 1, "cancelled": 0}.get(status, len(everybody))
    return [{**one, "signed_at": past(2)} if i < signed else one for i, one in enumerate(everybody)]


def contract(rng, number, home, deal, amount, sides, brokers):
    """`deal`: kind and status. `sides`: lists of ids, `owners` and `takers`, and the id of the `guarantor`. `brokers`: two ids."""
    kind, status = deal
    body = {"kind": kind, "number": f"{NUMBERS[kind]}-{TODAY.year}-{1000 + number}", "property_id": home["id"], "amount": amount,
            "external_id": f"con-{home['code'][2:]}-{NUMBERS[kind].lower()}",
            "metadata": {"pasta": f"{NUMBERS[kind]}/{home['code']}"}, **term(rng, kind, status, number)}
    roles = {"sale": ("seller", "buyer"), "rental": ("landlord", "tenant")}.get(kind, ("owner",))
    who = [*zip(roles, (sides["owners"], sides["takers"]))]
    if kind == "rental":
        body.update(rental(rng, GUARANTEES[number % len(GUARANTEES)], amount, sides["guarantor"]))
        who += [("guarantor", [sides["guarantor"]])] if "party_id" in body["guarantee"] else []
    body["parties"] = signatories(status, *who)
    if kind == "management":
        body.update(management_fee_bps=rng.choice([700, 800, 1000]), payment_day=10)
    else:
        body["notes"] = "Entrega das chaves na assinatura." if kind in ("sale", "rental") else "Visitas com hora marcada."
        body["commission"] = commission(brokers, amount if kind == "rental" else amount * 6 // 100)
    return body


def rental(rng, chosen, rent, guarantor):
    guarantee = {"guarantor": {"party_id": guarantor}, "deposit": {"amount": 3 * rent}}.get(
        chosen, {"amount": 12 * rent, "policy": f"0746.{TODAY.year}.{rng.randint(1, 9999999):07}"})
    return {"payment_day": rng.choice([1, 5, 10, 15]), "adjustment_index": rng.choice(INDICES),
            "guarantee": {"kind": chosen, **guarantee}}


def commission(brokers, total):
    """Split between two brokers, who can be the same."""
    first, second = brokers
    if first == second:
        splits = [{"broker_id": first, "role": "captador e corretor", "bps": 10000}]
    else:
        splits = [{"broker_id": first, "role": "captador", "bps": 4000}, {"broker_id": second, "role": "corretor", "bps": 6000}]
    return {"total_amount": total, "splits": splits}


# ---------------------------------------------------------------- documents

# kind, title, issuer, days until it expires
PAPERS = {
    "property": (
        ("matricula", "Matrícula atualizada", "Ofício de Registro de Imóveis", 30), ("iptu_bill", "Carnê do IPTU", "Prefeitura", 365),
        ("encumbrance_certificate", "Certidão de ônus reais", "Ofício de Registro de Imóveis", 30),
        ("tax_clearance", "Certidão negativa de tributos municipais", "Prefeitura", 90),
        ("condo_clearance", "Declaração de quitação condominial", "Administradora do condomínio", 30),
        ("habite_se", "Habite-se", "Prefeitura", None), ("floor_plan", "Planta baixa", None, None)),
    "person": (
        ("rg", "RG", "SSP", None), ("cpf", "Comprovante de inscrição no CPF", "Receita Federal", None),
        ("cnh", "CNH", "Detran", 1800), ("proof_of_address", "Comprovante de residência", None, 90),
        ("proof_of_income", "Comprovante de renda", None, 90), ("birth_certificate", "Certidão de nascimento", "Registro Civil", None),
        ("protest_certificate", "Certidão de protestos", "Tabelionato de Protesto", 30),
        ("civil_actions", "Certidão de distribuição cível", "Tribunal de Justiça", 30),
        ("power_of_attorney", "Procuração pública", "Tabelionato de Notas", 365)),
    "married": (("marriage_certificate", "Certidão de casamento", "Registro Civil", None),),
    "company": (("articles_of_association", "Contrato social consolidado", "Junta Comercial", None),
                ("cndt", "Certidão negativa de débitos trabalhistas", "Tribunal Superior do Trabalho", 180)),
    "proposal": (("proposal", "Proposta assinada", None, None),),
    "contract": (("contract", "Contrato assinado", None, None), ("inspection_report", "Laudo de vistoria", None, None),
                 ("deed", "Escritura", "Tabelionato de Notas", None)),
    "broker": (("other", "Cédula de identidade profissional", "CRECI", 1100),),
}


def document(rng, number, papers, related, key):
    """The document `number` modulo the number of PAPERS[papers]. `key` is part of its URL and external_id."""
    kind, title, issuer, days = PAPERS[papers][number % len(PAPERS[papers])]
    name, age = f"{kind.replace('_', '-')}.pdf", rng.randint(4, 29)
    url = f"https://arquivos.example.com.br/{key}/{name}"
    body = {"kind": kind, "title": title, "related": related, "status": rng.choice(["pending", "valid", "valid", "rejected"]),
            "file": {"url": url, "filename": name, "mime_type": "application/pdf", "size": rng.randint(40_000, 4_000_000),
                     "sha256": hashlib.sha256(url.encode()).hexdigest()},
            "issued_at": past(age), "external_id": f"doc-{key}", "metadata": {"pasta": key}}
    if issuer:
        body.update(issuer=issuer, number=f"{rng.randint(1000, 999999)}/{TODAY.year}")
    if days:
        body["expires_at"] = past(age - days)
        if rng.random() < 0.15:
            body.update(status="expired", issued_at=past(days + age), expires_at=past(age))
    return body

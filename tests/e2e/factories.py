# SPDX-License-Identifier: Apache-2.0
"""Creates resources, with minimal or full bodies."""

import itertools
import uuid
from concurrent.futures import ThreadPoolExecutor

from client import Api, ok

numbers = itertools.count(1)
PREFIXES = {"brokers": "brk_", "properties": "prp_", "parties": "pty_", "proposals": "pps_", "contracts": "ctr_",
            "documents": "doc_", "leads": "led_"}
NAMES = {"brokers": "broker", "properties": "property", "parties": "party", "proposals": "proposal", "contracts": "contract",
         "documents": "document", "leads": "lead"}
SERVER = {"id", "tenant_id", "organization_id", "created_at", "updated_at", "created_by", "updated_by", "decided_at",
          "signed_at", "terminated_at", "assigned_by"}
ROLES = {"sale": ["seller", "buyer"], "rental": ["landlord", "tenant"]}  # other kinds: owner
LAST_DAY = "2099-12-31"  # of a proposal that does not expire
UNKNOWN_ULID = "0" * 26  # an unused id
PLACE = {"postal_code": "04101300", "city": "São Paulo", "state": "SP"}
ADDRESS = {"postal_code": "04101300", "street": "Rua Vergueiro", "number": "2045", "complement": "Apto 82",
           "neighborhood": "Vila Mariana", "city": "São Paulo", "state": "SP", "ibge_code": "3550308", "latitude": -23.58934,
           "longitude": -46.63481}
BANK = {"bank_code": "341", "bank_name": "Itaú Unibanco", "agency": "0423", "account_number": "18765-4",
        "account_type": "checking", "pix_key": "ana@example.com.br"}
FILE = {"url": "https://files.example.com/a.pdf", "filename": "matricula.pdf", "mime_type": "application/pdf", "size": 183042,
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}


def digits(base, *weights):
    """The number with its check digits."""
    for row in weights:
        rest = sum((ord(c) - 48) * weight for c, weight in zip(base, row)) % 11
        base += str(0 if rest < 2 else 11 - rest)
    return base


def cpf(number=None):
    """A new CPF."""
    return digits(f"{next(numbers) if number is None else number:09}", range(10, 1, -1), range(11, 1, -1))


def cnpj(base=None):
    """A new CNPJ, with letters as they may have since July 2026."""
    row = [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]
    return digits(base or f"NEO{next(numbers):09}", row, [6, *row])


def phone():
    """A new mobile number."""
    return f"+55119{next(numbers):08}"


def unique():
    return uuid.uuid4().hex[:12]


def given(resource):
    """The writable fields of a response."""
    return {name: value for name, value in resource.items() if name not in SERVER}


class ResourceFactory:
    """Creates resources with one client. `body(collection, **fields)` is a minimal body, whose references it creates, `full`
    one with every field. A method for each kind creates a minimal resource with the given fields and returns it."""

    def __init__(self, api: Api):
        self.api = api

    def create(self, collection, **fields):
        return ok(self.api.post(collection, json=self.body(collection, **fields)), 201)

    def body(self, collection, **more):
        body = getattr(self, "small_" + collection)(more)
        return {name: value for name, value in {**body, **more}.items() if value is not ...}

    def small_brokers(self, more):
        return {"name": "Ana Paula Ribeiro"}

    def small_properties(self, more):
        return {"code": unique(), "transaction_type": "sale", "usage_type": "residential", "property_type": "apartment",
                "sale_price": 98_000_000, "address": PLACE}

    def small_parties(self, more):
        return {"kind": "person", "name": "Marina Duarte", "roles": ["buyer"]}

    def small_proposals(self, more):
        return {"kind": "purchase", "property_id": more.get("property_id") or self.offered()["id"],
                "proponent_ids": more.get("proponent_ids") or [self.party()["id"]], "amount": 95_000_000,
                "valid_until": LAST_DAY}

    def small_contracts(self, more):
        return {"kind": "sale", "property_id": more.get("property_id") or self.offered()["id"],
                "parties": more.get("parties") or self.signed(more.get("kind", "sale")), "amount": 95_000_000}

    def small_documents(self, more):
        related = None if "related" in more else {"type": "property", "id": self.property()["id"]}
        return {"kind": "matricula", "related": related, "file": {**FILE}}

    def small_leads(self, more):
        return {"name": "Marina Duarte", "email": "marina@example.com"}

    def broker(self, **fields):
        return self.create("brokers", **fields)

    def property(self, **fields):
        return self.create("properties", **fields)

    def offered(self, **fields):
        """An active property for sale and rent."""
        return self.property(**{"status": "active", "transaction_type": "sale_rent", "rent_price": 420_000, **fields})

    def signed(self, kind):
        """The parties that a contract of the kind requires, with signatures."""
        return [{"party_id": self.party()["id"], "role": role, "signed_at": "2026-02-11T18:30:00.000Z"}
                for role in ROLES.get(kind, ["owner"])]

    def party(self, **fields):
        return self.create("parties", **fields)

    def proposal(self, **fields):
        return self.create("proposals", **fields)

    def accepted(self, **fields):
        """An accepted proposal."""
        made = self.proposal(status="submitted", **fields)
        return ok(self.api.patch("proposals/" + made["id"], json={"status": "accepted"}))

    def contract(self, **fields):
        return self.create("contracts", **fields)

    def document(self, **fields):
        return self.create("documents", **fields)

    def lead(self, **fields):
        return self.create("leads", **fields)

    # ------------------------------------------------------------ with every field

    def full(self, collection):
        own = {"external_id": "crm-" + unique(), "metadata": {"campaign": "verao-2026", "Ação nº 1": ""}}
        return {**getattr(self, "full_" + collection)(), **own, **({"visibility": "public"} if collection == "brokers" else {})}

    def full_brokers(self):
        return {"name": "Ana Paula Ribeiro", "creci": "SP " + unique(), "document_number": "529.982.247-25",
                "email": "Ana.Ribeiro@example.com.br", "phone": "+55 (11) 98765-4321", "bank_account": BANK}

    def full_properties(self):
        return {
            "code": unique(), "title": "Apartamento na Vila Mariana", "description": "Sala com varanda.\nLazer completo.",
            "transaction_type": "sale_rent", "usage_type": "mixed", "property_type": "penthouse", "status": "active",
            "sale_price": 98_000_000, "rent_price": 420_000, "condo_fee": 115_000, "iptu_amount": 384_000,
            "iptu_period": "yearly", "address": ADDRESS, "address_display": "neighborhood", "private_area": 92.5,
            "total_area": 148.75, "lot_area": 1800, "bedrooms": 3, "suites": 1, "bathrooms": 2, "parking_spaces": 0,
            "floor": -1, "year_built": 2014,
            "registry": {"matricula": "187.442", "cnm": "111328.2.0187442-60", "cartorio": "14º Oficial",
                         "iptu_registration": "037.052.0118-4"},
            "owners": [{"party_id": self.party()["id"], "share_bps": 6000},
                       {"party_id": self.party()["id"], "share_bps": 4000}],
            "broker_id": self.broker()["id"], "exclusive": True, "exclusive_until": "2026-07-31", "accepts_financing": True,
            "accepts_fgts": False, "accepts_exchange": False, "features": ["Varanda \"gourmet\"", "Piscina"],
            "media": [{"url": "https://img.example.com/1.jpg", "caption": "Sala", "position": 0, "mime_type": "image/jpeg"}]}

    def full_parties(self):
        return {
            "kind": "person", "name": "Marina Duarte", "trade_name": "Duarte", "roles": ["buyer", "guarantor"],
            "document_number": cpf(), "rg": {"number": "12.345.678-9", "issuer": "SSP", "state": "SP"},
            "email": "Marina@Example.com", "phone": "+5511987654321", "birth_date": "1984-02-29", "nationality": "brasileira",
            "profession": "Engenheira", "marital_status": "married", "property_regime": "partial_community",
            "spouse_party_id": self.party()["id"], "address": ADDRESS,
            "bank_account": {"bank_code": "341", "pix_key": "marina@example.com"},
            "legal_representatives": [{"party_id": self.party()["id"]}], "broker_id": self.broker()["id"],
            "lgpd_consent_at": "2026-01-31T13:45:10.123Z"}

    def full_proposals(self):
        return {
            "kind": "purchase", "property_id": self.offered()["id"],
            "proponent_ids": [self.party()["id"], self.party()["id"]], "recipient_ids": [self.party()["id"]],
            "broker_id": self.broker()["id"], "amount": 95_000_000,
            "payment_terms": [{"kind": "down_payment", "amount": 20_000_000, "due_date": "2026-03-01"},
                              {"kind": "financing", "amount": 75_000_000, "installments": 360, "index": "ipca"}],
            "rental_terms": {"start_date": "2026-04-01", "months": 30, "guarantee_kind": "deposit"},
            "valid_until": LAST_DAY, "notes": "Chaves na entrega.\nSem permuta.", "status": "submitted",
            "decision_reason": "Preço"}

    def full_contracts(self):
        property = self.offered()["id"]
        return {
            "kind": "rental", "number": unique(), "property_id": property,
            "proposal_id": self.accepted(property_id=property, kind="rental")["id"],
            "parties": [{"party_id": self.party()["id"], "role": "landlord", "share_bps": 10000,
                         "signed_at": "2026-02-11T18:30:00.000Z"}, {"party_id": self.party()["id"], "role": "tenant"}],
            "amount": 420_000, "start_date": "2026-03-01", "end_date": "2028-08-31", "payment_day": 5,
            "adjustment_index": "ipca",
            "guarantee": {"kind": "guarantor", "amount": 1_260_000, "party_id": self.party()["id"], "policy": "1"},
            "commission": {"total_amount": 420_000,
                           "splits": [{"broker_id": self.broker()["id"], "role": "listing", "bps": 4000},
                                      {"broker_id": self.broker()["id"], "bps": 6000}]},
            "management_fee_bps": 800, "notes": "Vistoria em anexo.", "status": "draft",
            "termination_reason": "Nenhuma"}

    def full_documents(self):
        return {
            "kind": "encumbrance_certificate", "title": "Certidão", "related": {"type": "party", "id": self.party()["id"]},
            "file": FILE, "number": "12/2026", "issuer": "14º Oficial", "issued_at": "2026-01-31T13:45:10.123Z",
            "expires_at": "2026-03-02T13:45:10.123Z", "status": "valid"}

    def full_leads(self):
        return {
            "name": "Marina Duarte", "phone": phone(), "whatsapp_user_id": "BR." + unique(), "email": "Marina@Example.com",
            "message": "Gostaria de visitar.\nObrigada.", "source": "portal",
            "origin": {"portal": "zap", "lead_id": unique()}, "property_id": self.property()["id"],
            "party_id": self.party()["id"], "broker_id": self.broker()["id"], "status": "lost", "lost_reason": "Sem retorno.",
            "consent": {"given_at": "2026-01-31T13:45:10.123Z", "source": "site", "text": "Aceito receber mensagens."},
            "received_at": "2026-01-31T13:45:10.123Z"}


def many(admin_factory, count):
    """Calls `make` concurrently and returns the results."""
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda _: admin_factory(), range(count)))

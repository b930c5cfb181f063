# SPDX-License-Identifier: Apache-2.0
"""Generates the demo's properties. places.csv has neighbourhoods with their municipality (IBGE code), streets with the first five
digits of the postal code, price of a square metre in reais, and types of property."""

import csv
from pathlib import Path

# usage, minimum and maximum area (m²), minimum and maximum of bedrooms, price per m² relative to an apartment, name
TYPES = {
    "apartment": ("residential", 52, 140, 2, 4, 1.0, "Apartamento"), "house": ("residential", 110, 320, 2, 5, 0.7, "Casa"),
    "condo_house": ("residential", 150, 380, 3, 5, 0.8, "Casa em condomínio"),
    "townhouse": ("residential", 90, 190, 2, 4, 0.75, "Sobrado"), "penthouse": ("residential", 140, 330, 3, 5, 1.2, "Cobertura"),
    "flat": ("residential", 28, 55, 1, 1, 1.1, "Flat"), "kitnet": ("residential", 22, 34, 1, 1, 0.9, "Quitinete"),
    "studio": ("residential", 24, 42, 1, 1, 1.1, "Studio"), "loft": ("residential", 45, 95, 1, 1, 1.1, "Loft"),
    "village_house": ("residential", 60, 110, 2, 3, 0.75, "Casa de vila"), "lot": ("residential", 250, 900, 0, 0, 0.15, "Terreno"),
    "farm_ranch": ("residential", 140, 320, 3, 6, 0.9, "Chácara"), "farm": ("mixed", 180000, 900000, 3, 6, 1.0, "Fazenda"),
    "office": ("commercial", 35, 220, 0, 0, 0.9, "Sala comercial"), "retail": ("commercial", 40, 350, 0, 0, 0.9, "Loja"),
    "building": ("mixed", 600, 2400, 0, 0, 0.6, "Prédio"), "clinic": ("commercial", 60, 260, 0, 0, 0.9, "Clínica"),
    "industrial": ("commercial", 400, 3000, 0, 0, 0.5, "Galpão"), "garage": ("commercial", 11, 14, 0, 0, 0.4, "Vaga de garagem"),
    "hotel": ("commercial", 700, 2600, 0, 0, 0.7, "Hotel")}
TALL = {"apartment", "penthouse", "flat", "kitnet", "studio", "loft", "office", "clinic", "garage"}
ON_LAND = {"house", "condo_house", "townhouse", "village_house", "lot", "farm_ranch", "farm", "industrial", "building", "hotel"}
FEATURES = {"residential": ["Varanda gourmet", "Churrasqueira", "Piscina", "Academia", "Portaria 24 horas", "Armários planejados",
                            "Aceita animais", "Playground", "Salão de festas", "Ar-condicionado"],
            "commercial": ["Ar-condicionado", "Recepção", "Copa", "Gerador", "Acessibilidade", "Piso elevado", "Docas"],
            "mixed": ["Poço artesiano", "Portaria", "Energia solar", "Acessibilidade"]}

CAPTIONS = ["Frente", "Vista", "Entrada", "Rua", "Acesso", "Fundos", "Entorno", "Planta"]
PHOTOS = (0, 3, 5, 6, 7, 8)  # how many; portals refuse listings with fewer than five


def places(states):
    with open(Path(__file__).with_name("places.csv"), encoding="utf-8") as table:
        return [row for row in csv.DictReader(table) if row["state"] in states]


def address(rng, place, kind=None):
    street, postal = rng.choice(place["streets"].split("|")).rsplit(" ", 1)
    body = {"postal_code": f"{postal}{rng.randint(10, 890):03}", "street": street, "number": str(rng.randint(20, 1990)),
            "neighborhood": place["neighborhood"], "city": place["city"], "state": place["state"],
            "ibge_code": place["ibge_code"], "latitude": round(float(place["latitude"]) + rng.uniform(-0.002, 0.002), 5),
            "longitude": round(float(place["longitude"]) + rng.uniform(-0.002, 0.002), 5)}
    if kind in TALL:
        body["complement"] = f"{'Sala' if kind in ('office', 'clinic') else 'Apto'} {rng.randint(1, 18)}{rng.randint(1, 4)}"
    return body


def rooms(rng, kind, area):
    """Areas (m²), and numbers of rooms and floors."""
    fewest, most = TYPES[kind][3:5]
    if kind == "lot":
        return {"lot_area": area}
    if kind == "farm":
        return {"lot_area": area, "private_area": rng.randint(200, 500), "bedrooms": rng.randint(fewest, most), "bathrooms": 3}
    body = {"private_area": area, "total_area": round(area * 1.3 + 0.5, 1), "parking_spaces": min(area // 45, 40),
            "year_built": rng.randint(1962, 2025), "bathrooms": 1 + min(area // 80, 20 if kind in ("hotel", "building") else 4)}
    if most:
        bedrooms = rng.randint(fewest, most)
        body.update(bedrooms=bedrooms, suites=bedrooms // 2)
    if kind in TALL:
        body["floor"] = rng.randint(1, 18) if kind != "garage" else -rng.randint(1, 3)
    if kind in ON_LAND:
        body["lot_area"] = round(area * (12 if kind == "farm_ranch" else 1.4), 1)
    return body


def prices(rng, place, kind, area, transaction):
    """Prices and taxes, in centavos."""
    price = max(round(area * int(place["price"]) * TYPES[kind][5] * rng.uniform(0.85, 1.15) / 1000), 20) * 100_000
    body = {}
    if kind != "farm":  # which pays another tax
        period = rng.choice(["yearly", "yearly", "monthly"])
        body.update(iptu_amount=price // 200_000 * 1000 // (12 if period == "monthly" else 1), iptu_period=period)
    if transaction != "rent":
        body.update(sale_price=price, accepts_financing=rng.random() < 0.7, accepts_fgts=rng.random() < 0.4,
                    accepts_exchange=rng.random() < 0.2)
    if transaction != "sale":
        body["rent_price"] = max(price * 45 // 10000 // 5000, 5) * 5000
    if kind in TALL or kind == "condo_house":
        body["condo_fee"] = area * rng.randint(700, 1300) // 1000 * 1000
    return body


def words(rng, place, kind, home):
    """Title, description, features and photos."""
    usage, name = TYPES[kind][0], TYPES[kind][6]
    bedrooms = home.get("bedrooms")
    count = f" com {bedrooms} dormitório{'s' if bedrooms > 1 else ''}" if bedrooms else ""
    features = rng.sample(FEATURES[usage], rng.randint(2, 4)) if kind not in ("lot", "garage") else []
    area = home.get("private_area") or home["lot_area"]
    body = {"title": f"{name}{count}, {place['neighborhood']}",
            "description": f"{name}{count}, {area} m², no bairro {place['neighborhood']}, em {place['city']}.\n"
                           f"{', '.join(features) or 'Documentação em dia'}."}
    if features:
        body["features"] = features
    body["media"] = [
        {"url": f"https://fotos.example.com.br/{home['code'].lower()}/{position}.jpg", "caption": caption, "position": position,
         "mime_type": "image/jpeg"} for position, caption in enumerate(CAPTIONS[:rng.choice(PHOTOS)], 1)]
    return body if body["media"] else {key: value for key, value in body.items() if key != "media"}


def home(rng, number, place, kind, transaction):
    """A property without its owners, broker and status."""
    usage, smallest, largest = TYPES[kind][:3]
    area = rng.randint(smallest, largest)
    body = {"code": f"{TYPES[kind][6][:2].upper()}{1000 + number}", "transaction_type": transaction, "usage_type": usage,
            "property_type": kind, "address": address(rng, place, kind),
            "address_display": rng.choice(["full", "street", "neighborhood", "neighborhood"]),
            "external_id": f"imv-{1000 + number}", "metadata": {"origem": rng.choice(["site", "indicação", "plantão", "portal"])}}
    body.update(rooms(rng, kind, area), **prices(rng, place, kind, area, transaction))
    body.update(words(rng, place, kind, body))
    if rng.random() < 0.8:
        body["registry"] = {"matricula": f"{rng.randint(8, 240)}.{rng.randint(0, 999):03}",
                            "cartorio": f"{rng.randint(1, 2)}º Ofício de Registro de Imóveis de {place['city']}",
                            "iptu_registration": f"{rng.randint(10, 310):03}.{rng.randint(1, 99):03}.{rng.randint(1, 9999):04}"}
    return body

# Writes the demo's brokers, one a line as the API takes them: awk -v count=140 -v state=SP -v area=11 -v first=1 -f brokers.awk
# The same arguments give the same brokers. Names, numbers and accounts are combined by a counter and a simple generator and
# are meant to be nobody's: addresses end in example.com, telephone numbers begin with a prefix that is not given out.

# Park and Miller's generator: the same in every awk.
function random(n) {
    seed = (seed * 16807) % 2147483647
    return seed % n
}

function digits(n,    text) {
    while (n-- > 0)
        text = text random(10)
    return text
}

function one_of(list,    parts, n) {
    n = split(list, parts, "|")
    return parts[1 + random(n)]
}

# A check digit of a CPF: weights from `weight` down to 2, then the rest of the division by 11.
function check_digit(text, weight,    i, sum) {
    for (i = 1; i <= length(text); i++)
        sum += substr(text, i, 1) * weight--
    sum = sum % 11
    return sum < 2 ? 0 : 11 - sum
}

function cpf(    text) {
    text = digits(9)
    text = text check_digit(text, 10)
    text = text check_digit(text, 11)
    return substr(text, 1, 3) "." substr(text, 4, 3) "." substr(text, 7, 3) "-" substr(text, 10)
}

function pair(name, value) {
    return "\"" name "\":\"" value "\""
}

# The first word without accents, in lower case: as a part of an address.
function plain(text,    i, n, accents) {
    n = split("á a|â a|ã a|é e|ê e|í i|ó o|ô o|õ o|ú u|ç c|Á a|É e|Í i|Ó o|Â a", accents, "|")
    for (i = 1; i <= n; i++)
        gsub(substr(accents[i], 1, length(accents[i]) - 2), substr(accents[i], length(accents[i])), text)
    sub(/ .*/, "", text)
    return tolower(text)
}

function bank_account(email, phone, document,    bank, parts, kind, agency, number) {
    bank = one_of("001=Banco do Brasil|237=Bradesco|341=Itaú Unibanco|104=Caixa Econômica Federal|033=Santander|260=Nubank")
    split(bank, parts, "=")
    kind = parts[1] == "260" ? "payment" : one_of("checking|checking|checking|savings|salary")
    agency = parts[1] == "260" ? "0001" : digits(4)
    number = 1 + random(9) digits(5) "-" random(10)
    return "\"bank_account\":{" pair("bank_code", parts[1]) "," pair("bank_name", parts[2]) "," pair("agency", agency) "," \
        pair("account_number", number) "," pair("account_type", kind) "," pair("pix_key", one_of(email "|" phone "|" document)) "}"
}

function broker(number,    given, family, second, name, email, phone, document, line) {
    given = one_of(given_names)
    family = one_of(family_names)
    do
        second = one_of(family_names)
    while (second == family)
    name = given " " second " " family
    email = plain(given) "." plain(family) number "@example.com"
    phone = "+55 " area " 90000-" digits(4)
    document = cpf()
    line = pair("name", name) "," pair("creci", sprintf("CRECI-%s %06d-F", state, 100000 + number * 1373)) "," \
        pair("document_number", document) "," pair("email", email) "," pair("phone", phone)
    if (random(10) > 0)
        line = line "," bank_account(email, phone, document)
    if (random(4) == 0)
        line = line "," pair("visibility", one_of("public|public|private"))
    return "{" line "}"
}

BEGIN {
    given_names = "Ana Beatriz|André|Antônio|Beatriz|Bruno|Camila|Carlos Eduardo|Cecília|Cláudia|Daniel|Débora|Eduardo|Elaine|" \
        "Fábio|Fernanda|Flávia|Gabriel|Gustavo|Helena|Heloísa|Igor|Isabela|João Pedro|José Carlos|Júlia|Larissa|Letícia|" \
        "Luís Fernando|Luíza|Marcelo|Márcia|Mariana|Mateus|Natália|Otávio|Patrícia|Paulo|Rafael|Renata|Ricardo|Rodrigo|" \
        "Sérgio|Simone|Tatiane|Thiago|Vanessa|Vinícius|Vitória"
    family_names = "Almeida|Alves|Andrade|Araújo|Assunção|Barbosa|Batista|Borges|Campos|Cardoso|Carvalho|Castro|Conceição|Correia|" \
        "Costa|Dias|Fernandes|Ferreira|Fonseca|Freitas|Gomes|Gonçalves|Guimarães|Lima|Lopes|Machado|Magalhães|Martins|Mendes|" \
        "Monteiro|Moreira|Nascimento|Nogueira|Oliveira|Pereira|Ribeiro|Rocha|Rodrigues|Santos|Silva|Souza|Teixeira|Vieira"
    seed = 7919 * first
    for (i = 0; i < count; i++)
        print broker(first + i)
}

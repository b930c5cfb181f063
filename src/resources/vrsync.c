/* SPDX-License-Identifier: Apache-2.0 */
/* The table of VRSync's elements, and the writer (see resources/vrsync.h). */
#include "resources/vrsync.h"

#include <apr_strings.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/encode.h"
#include "core/xml.h"

/* ---------------------------------------------------------------- the portal's words */

typedef struct {
    const char *ours, *theirs;
} word;

static const word transactions[] = {{"sale", "For Sale"}, {"rent", "For Rent"}, {"sale_rent", "Sale/Rent"}, {0}};
static const word usages[] = {
    {"residential", "Residential"}, {"commercial", "Commercial"}, {"mixed", "Residential / Commercial"}, {0}};
static const word periods[] = {{"monthly", "Monthly"}, {"yearly", "Yearly"}, {0}};
static const word displays[] = {{"full", "All"}, {"street", "Street"}, {"neighborhood", "Neighborhood"}, {0}};
/* clang-format off */
static const word states[] = {
    {"AC", "Acre"}, {"AL", "Alagoas"}, {"AP", "Amapá"}, {"AM", "Amazonas"}, {"BA", "Bahia"}, {"CE", "Ceará"},
    {"DF", "Distrito Federal"}, {"ES", "Espírito Santo"}, {"GO", "Goiás"}, {"MA", "Maranhão"}, {"MT", "Mato Grosso"},
    {"MS", "Mato Grosso do Sul"}, {"MG", "Minas Gerais"}, {"PA", "Pará"}, {"PB", "Paraíba"}, {"PR", "Paraná"},
    {"PE", "Pernambuco"}, {"PI", "Piauí"}, {"RJ", "Rio de Janeiro"}, {"RN", "Rio Grande do Norte"},
    {"RS", "Rio Grande do Sul"}, {"RO", "Rondônia"}, {"RR", "Roraima"}, {"SC", "Santa Catarina"}, {"SP", "São Paulo"},
    {"SE", "Sergipe"}, {"TO", "Tocantins"}, {0},
};

/* The portal knows these words only. Others are not sent. */
static const word features[] = {
    {"Academia", "Gym"}, {"Aceita animais", "Pets Allowed"}, {"Aquecimento", "Heating"}, {"Ar-condicionado", "Cooling"},
    {"Banheira", "Bathtub"}, {"Bicicletário", "Bicycles Place"}, {"Brinquedoteca", "Toys Place"},
    {"Câmeras de segurança", "Security Camera"}, {"Churrasqueira", "BBQ"}, {"Closet", "Closet"}, {"Coworking", "Coworking"},
    {"Cozinha americana", "American Kitchen"}, {"Depósito", "Warehouse"}, {"Elevador", "Elevator"},
    {"Energia solar", "Solar Energy"}, {"Escritório", "Home Office"}, {"Espaço gourmet", "Gourmet Area"},
    {"Gerador", "Generator"}, {"Interfone", "Intercom"}, {"Jardim", "Garden Area"}, {"Lareira", "Fireplace"},
    {"Lavabo", "Lavabo"}, {"Lavanderia", "Laundry"}, {"Mobiliado", "Furnished"}, {"Piscina", "Pool"},
    {"Piscina aquecida", "Heated Pool"}, {"Playground", "Playground"}, {"Portaria 24 horas", "Concierge 24h"},
    {"Portão eletrônico", "Electronic Gate"}, {"Quadra de tênis", "Tennis court"}, {"Quadra poliesportiva", "Sports Court"},
    {"Quintal", "Backyard"}, {"Salão de festas", "Party Room"}, {"Salão de jogos", "Game room"}, {"Sauna", "Sauna"},
    {"Varanda", "Balcony"}, {"Varanda gourmet", "Gourmet Balcony"}, {"Vista para o mar", "Ocean View"}, {0},
};

/* When an element is required or sent. */
enum need {
    OPTIONAL,
    REQUIRED = 1,
    FOR_SALE = 2,
    FOR_RENT = 4,
    LIVING_AREA = 8, /* the type of property requires it */
    LOT_AREA = 16,
    BEDROOMS = 32,
    BATHROOMS = 64,
    STREET_SHOWN = 128, /* not sent if address_display does not allow it */
    ALL_SHOWN = 256,
};

#define HOME (LIVING_AREA | BEDROOMS | BATHROOMS)

static const struct {
    const char *type;
    const char *residential, *commercial; /* by usage_type; a NULL: the other one */
    unsigned int needs;
} types[] = {
    {"apartment", "Residential / Apartment", NULL, HOME},
    {"house", "Residential / Home", NULL, HOME},
    {"condo_house", "Residential / Condo", NULL, HOME},
    {"townhouse", "Residential / Sobrado", NULL, HOME},
    {"penthouse", "Residential / Penthouse", NULL, HOME},
    {"flat", "Residential / Flat", NULL, HOME},
    {"kitnet", "Residential / Kitnet", NULL, LIVING_AREA | BATHROOMS},
    {"studio", "Residential / Studio", NULL, HOME},
    {"loft", "Residential / Loft", NULL, HOME},
    {"village_house", "Residential / Village House", NULL, HOME},
    {"lot", "Residential / Land Lot", "Commercial / Land Lot", LOT_AREA},
    {"farm_ranch", "Residential / Farm Ranch", NULL, LOT_AREA | BEDROOMS | BATHROOMS},
    {"farm", "Residential / Agricultural", NULL, LOT_AREA | BEDROOMS | BATHROOMS},
    {"office", NULL, "Commercial / Office", LIVING_AREA | BATHROOMS},
    {"retail", NULL, "Commercial / Business", LIVING_AREA},
    {"building", "Commercial / Edificio Residencial", "Commercial / Edificio Comercial", LIVING_AREA},
    {"clinic", NULL, "Commercial / Consultorio", LIVING_AREA | BATHROOMS},
    {"industrial", NULL, "Commercial / Industrial", LOT_AREA},
    {"garage", NULL, "Commercial / Garage", LIVING_AREA},
    {"hotel", NULL, "Commercial / Hotel", LIVING_AREA},
};

/* ---------------------------------------------------------------- the elements */

enum conversion {
    CODE,       /* unchanged */
    TEXT,       /* without markup, on one line */
    PARAGRAPHS, /* without markup; line breaks become <br>, as text */
    MONEY,      /* from cents to whole reais */
    NUMBER,     /* rounded */
    DECIMAL,
    CHOICE,     /* a word of the portal */
    TYPE,       /* the type of property */
    COUNTRY,
    PHOTOS,     /* with a video */
    FEATURES,
};

#define CURRENCY " currency=\"BRL\""
#define METRES   " unit=\"square metres\""
#define MOST     1000000000000LL

/* One row for each element, in the order of the portal's examples. An optional value beyond its limit is not sent. */
static const struct element {
    const char *path, *field;
    enum conversion conversion;
    long long min, max; /* limits of its characters, photos or number; 0 and 0: none */
    unsigned int needs;
    const char *attributes; /* fixed ones, or NULL */
    const word *words;      /* the words of a CHOICE, or of `attribute` */
    const char *attribute, *attribute_field; /* another one, whose value is that of a field; or NULL */
} elements[] = {
    {"ListingID", "code", CODE, 1, 50, REQUIRED, .attributes = NULL},
    {"Title", "title", TEXT, 10, 100, REQUIRED, .attributes = NULL},
    {"TransactionType", "transaction_type", CHOICE, .needs = REQUIRED, .words = transactions},
    {"Media", "media", PHOTOS, 5, MOST, REQUIRED, .attributes = NULL},
    {"Details/UsageType", "usage_type", CHOICE, .words = usages},
    {"Details/PropertyType", "property_type", TYPE, .needs = REQUIRED},
    {"Details/Description", "description", PARAGRAPHS, 50, 3000, REQUIRED, .attributes = NULL},
    {"Details/ListPrice", "sale_price", MONEY, 1, MOST, FOR_SALE, CURRENCY, .words = NULL},
    {"Details/RentalPrice", "rent_price", MONEY, 1, MOST, FOR_RENT, CURRENCY " period=\"Monthly\"", .words = NULL},
    {"Details/Iptu", "iptu_amount", MONEY, 1, MOST, OPTIONAL, CURRENCY, periods, "period", "iptu_period"},
    {"Details/LotArea", "lot_area", NUMBER, 1, MOST, LOT_AREA, METRES, .words = NULL},
    {"Details/LivingArea", "private_area", NUMBER, 1, MOST, LIVING_AREA, METRES, .words = NULL},
    {"Details/PropertyAdministrationFee", "condo_fee", MONEY, 0, MOST, OPTIONAL, CURRENCY, .words = NULL},
    {"Details/Bedrooms", "bedrooms", NUMBER, 0, 1000, BEDROOMS, .attributes = NULL},
    {"Details/Bathrooms", "bathrooms", NUMBER, 0, 1000, BATHROOMS, .attributes = NULL},
    {"Details/Suites", "suites", NUMBER, 0, 1000, OPTIONAL, .attributes = NULL},
    {"Details/Garage", "parking_spaces", NUMBER, 0, 10000, OPTIONAL, .attributes = NULL},
    {"Details/UnitFloor", "floor", NUMBER, 0, 300, OPTIONAL, .attributes = NULL},
    {"Details/YearBuilt", "year_built", NUMBER, 1000, 9999, OPTIONAL, .attributes = NULL},
    {"Details/Features", "features", FEATURES, .words = features},
    {"Location/Country", "address", COUNTRY, .needs = REQUIRED, .attributes = " abbreviation=\"BR\""},
    {"Location/State", "address.state", CHOICE, .needs = REQUIRED, .words = states, .attribute = "abbreviation"},
    {"Location/City", "address.city", TEXT, 1, 100, REQUIRED, .attributes = NULL},
    {"Location/Neighborhood", "address.neighborhood", TEXT, 1, 100, REQUIRED, .attributes = NULL},
    {"Location/Address", "address.street", TEXT, 1, 200, STREET_SHOWN, .attributes = NULL},
    {"Location/StreetNumber", "address.number", TEXT, 1, 20, ALL_SHOWN, .attributes = NULL},
    {"Location/Complement", "address.complement", TEXT, 1, 100, ALL_SHOWN, .attributes = NULL},
    {"Location/PostalCode", "address.postal_code", CODE, 8, 8, REQUIRED, .attributes = NULL},
    {"Location/Latitude", "address.latitude", DECIMAL, .needs = ALL_SHOWN},
    {"Location/Longitude", "address.longitude", DECIMAL, .needs = ALL_SHOWN},
};
/* clang-format on */

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *translate(const word *words, const char *text)
{
    for (; text && words->ours; words++)
        if (strcasecmp(words->ours, text) == 0)
            return words->theirs;
    return NULL;
}

/* ---------------------------------------------------------------- a listing */

typedef struct {
    const neo_json *property;
    apr_pool_t *pool;
    neo_buf *out;
    neo_json *problems; /* an array */
    const char *type;
    unsigned int needs; /* that are required, or shown */
} listing;

/* The value of a field: "address.city". NULL if it has none. */
static const neo_json *find_value(const listing *l, const char *field)
{
    const char *dot = strchr(field, '.');
    const neo_json *object =
        dot ? neo_json_get(l->property, apr_pstrmemdup(l->pool, field, (apr_size_t)(dot - field))) : l->property;
    const neo_json *value = object ? neo_json_get(object, dot ? dot + 1 : field) : NULL;
    return value && neo_json_get_kind(value) != NEO_JSON_NULL ? value : NULL;
}

static void read_needs(listing *l)
{
    const char *transaction = neo_json_string_at(l->property, "transaction_type");
    const char *usage = neo_json_string_at(l->property, "usage_type"), *type = neo_json_string_at(l->property, "property_type");
    const char *display = neo_json_string_at(l->property, "address_display");
    int is_full = display && strcmp(display, "full") == 0, is_commercial = usage && strcmp(usage, "commercial") == 0;
    l->needs = REQUIRED;
    if (transaction && strncmp(transaction, "sale", 4) == 0)
        l->needs |= FOR_SALE;
    if (transaction && strcmp(transaction, "sale") != 0)
        l->needs |= FOR_RENT;
    if (is_full || (display && strcmp(display, "street") == 0))
        l->needs |= STREET_SHOWN;
    if (is_full)
        l->needs |= ALL_SHOWN;
    for (apr_size_t i = 0; type && i < COUNT(types); i++)
        if (strcmp(types[i].type, type) == 0) {
            l->needs |= types[i].needs;
            l->type =
                !types[i].residential || (is_commercial && types[i].commercial) ? types[i].commercial : types[i].residential;
        }
}

/* ---------------------------------------------------------------- photos and features */

static int is_photo(const neo_json *item)
{
    const char *mime = neo_json_string_at(item, "mime_type"), *url = neo_json_string_at(item, "url");
    if (!url)
        return 0;
    if (mime)
        return strcasecmp(mime, "image/jpeg") == 0 || strcasecmp(mime, "image/jpg") == 0;
    apr_size_t length = strcspn(url, "?#");
    return (length > 4 && strncasecmp(url + length - 4, ".jpg", 4) == 0) ||
           (length > 5 && strncasecmp(url + length - 5, ".jpeg", 5) == 0);
}

static int is_video(const neo_json *item)
{
    static const char *const starts[] = {"https://www.youtube.com/", "https://youtube.com/", "https://m.youtube.com/",
                                         "https://youtu.be/"};
    const char *url = neo_json_string_at(item, "url");
    for (apr_size_t i = 0; url && i < COUNT(starts); i++)
        if (strncasecmp(url, starts[i], strlen(starts[i])) == 0)
            return 1;
    return 0;
}

typedef struct {
    const neo_json *item;
    long long rank; /* by position; photos with the same one, or without one, keep the order of the list */
} photo;

static int compare_photos(const void *left, const void *right)
{
    long long a = ((const photo *)left)->rank, b = ((const photo *)right)->rank;
    return a < b ? -1 : a > b;
}

static apr_size_t sort_photos(const listing *l, const neo_json *media, photo **photos)
{
    apr_size_t count = 0, size = neo_json_size(media);
    *photos = apr_palloc(l->pool, size * sizeof **photos);
    for (apr_size_t i = 0; i < size; i++) {
        const neo_json *item = neo_json_at(media, i), *position = neo_json_get(item, "position");
        int has_position = position && neo_json_get_kind(position) == NEO_JSON_INTEGER;
        long long rank = (has_position ? neo_json_integer(position) : MOST) * (long long)size + (long long)i;
        if (is_photo(item))
            (*photos)[count++] = (photo){item, rank};
    }
    qsort(*photos, count, sizeof **photos, compare_photos);
    return count;
}

static void add_photo(const listing *l, const neo_json *item, int is_first)
{
    const char *caption = neo_json_string_at(item, "caption");
    neo_buf_puts(l->out, "<Item medium=\"image\"");
    if (caption) {
        neo_buf_puts(l->out, " caption=\"");
        neo_xml_add(l->out, neo_xml_plain(caption, 0, l->pool));
        neo_buf_putc(l->out, '"');
    }
    neo_buf_puts(l->out, is_first ? " primary=\"true\">" : ">");
    neo_xml_add(l->out, neo_json_string_at(item, "url"));
    neo_buf_puts(l->out, "</Item>");
}

static void add_media(const listing *l, const neo_json *media)
{
    photo *photos;
    apr_size_t count = sort_photos(l, media, &photos);
    for (apr_size_t i = 0; i < neo_json_size(media); i++)
        if (is_video(neo_json_at(media, i))) {
            neo_xml_element(l->out, "Item", " medium=\"video\"", neo_json_string_at(neo_json_at(media, i), "url"));
            break; /* the portal allows one */
        }
    for (apr_size_t i = 0; i < count; i++)
        add_photo(l, photos[i].item, i == 0);
}

static int is_feature(const neo_json *item)
{
    return translate(features, neo_json_string(item)) != NULL;
}

static long long count_items(const neo_json *list, int (*is_shown)(const neo_json *item))
{
    long long count = 0;
    for (apr_size_t i = 0; i < neo_json_size(list); i++)
        count += is_shown(neo_json_at(list, i));
    return count;
}

static void add_features(const listing *l, const neo_json *list)
{
    for (apr_size_t i = 0; i < neo_json_size(list); i++) {
        const char *feature = translate(features, neo_json_string(neo_json_at(list, i)));
        if (feature)
            neo_xml_element(l->out, "Feature", NULL, feature);
    }
}

/* ---------------------------------------------------------------- values */

/* How many characters the feed has for a text: a line break is written as <br>. */
static long long written_length(const char *text)
{
    long long length = (long long)neo_utf8_length(text);
    for (; *text; text++)
        length += *text == '\n' ? 3 : 0;
    return length;
}

/* The text of a value, "" of a list, NULL if it has none. *size: what the element's limits apply to. */
static const char *convert(const listing *l, const struct element *e, const neo_json *value, long long *size)
{
    int is_list = neo_json_get_kind(value) == NEO_JSON_ARRAY, is_number = neo_json_get_kind(value) == NEO_JSON_INTEGER;
    const char *text = neo_json_string(value);
    is_number |= neo_json_get_kind(value) == NEO_JSON_REAL;
    switch (e->conversion) {
    case TEXT:
    case PARAGRAPHS: text = text ? neo_xml_plain(text, e->conversion == PARAGRAPHS, l->pool) : NULL; /* fallthrough */
    case CODE: *size = text ? written_length(text) : 0; return *size ? text : NULL;
    case CHOICE: return translate(e->words, text);
    case TYPE: return l->type;
    case COUNTRY: return "Brasil";
    case DECIMAL: return is_number ? neo_json_text(value, l->pool).ptr : NULL;
    case MONEY:
    case NUMBER:
        *size = is_number ? llround(neo_json_real(value) / (e->conversion == MONEY ? 100 : 1)) : 0;
        return is_number ? apr_ltoa(l->pool, (long)*size) : NULL;
    case PHOTOS: *size = is_list ? count_items(value, is_photo) : 0; return is_list ? "" : NULL;
    case FEATURES: return is_list && count_items(value, is_feature) ? "" : NULL;
    }
    return NULL;
}

static void add_problem(const listing *l, const struct element *e, int is_missing)
{
    const char *message = "is required";
    neo_json *problem = neo_json_make_object(l->pool);
    if (e->conversion == PHOTOS)
        message = apr_psprintf(l->pool, "needs at least %ld photos in JPEG format", (long)e->min);
    else if (!is_missing && (e->conversion == MONEY || e->conversion == NUMBER))
        message = apr_psprintf(l->pool, "must be at least %ld%s", (long)e->min, e->conversion == MONEY ? "00" : "");
    else if (!is_missing)
        message = apr_psprintf(l->pool, "must have %ld to %ld characters, without HTML", (long)e->min, (long)e->max);
    neo_json_set_string(problem, "field", e->field, l->pool);
    neo_json_set_string(problem, "element", e->path, l->pool);
    neo_json_set_string(problem, "message", message, l->pool);
    neo_json_append(l->problems, problem);
}

static const char *element_name(const struct element *e)
{
    const char *slash = strchr(e->path, '/');
    return slash ? slash + 1 : e->path;
}

static void add_value(const listing *l, const struct element *e, const neo_json *value, const char *text)
{
    const char *attributes = e->attributes ? e->attributes : "";
    const char *own = e->attribute_field ? neo_json_string_at(l->property, e->attribute_field) : neo_json_string(value);
    if (e->attribute_field)
        own = translate(e->words, own);
    if (e->attribute && own)
        attributes = apr_psprintf(l->pool, "%s %s=\"%s\"", attributes, e->attribute, own);
    neo_buf_printf(l->out, "<%s%s>", element_name(e), attributes);
    if (e->conversion == PHOTOS)
        add_media(l, value);
    else if (e->conversion == FEATURES)
        add_features(l, value);
    else
        neo_xml_add(l->out, text);
    neo_buf_printf(l->out, "</%s>", element_name(e));
}

/* Adds the element, or its problem. */
static void write_element(const listing *l, const struct element *e)
{
    static const unsigned int only_if_needed = FOR_SALE | FOR_RENT | STREET_SHOWN | ALL_SHOWN;
    int is_needed = (e->needs & l->needs) != 0, is_required = is_needed && !(e->needs & (STREET_SHOWN | ALL_SHOWN));
    long long size = 0, min = e->min;
    if ((e->needs & only_if_needed) && !is_needed)
        return;
    const neo_json *value = find_value(l, e->field);
    const char *text = value ? convert(l, e, value, &size) : NULL;
    if (e->needs == BEDROOMS && l->type && strstr(l->type, "Studio"))
        min = 1;
    int is_within = (!e->min && !e->max) || (size >= min && size <= e->max);
    if (text && is_within)
        add_value(l, e, value, text);
    else if (is_required)
        add_problem(l, e, !text);
}

static void open_parent(const listing *l, const char *path, apr_size_t length)
{
    const char *display = translate(displays, neo_json_string_at(l->property, "address_display"));
    neo_buf_printf(l->out, "<%.*s", (int)length, path);
    if (strncmp(path, "Location", length) == 0)
        neo_buf_printf(l->out, " displayAddress=\"%s\"", display ? display : "Neighborhood");
    neo_buf_putc(l->out, '>');
}

/* Adds the elements of the table, and their problems to l->problems. */
static void write_elements(const listing *l)
{
    const char *parent = "";
    apr_size_t length = 0;
    for (apr_size_t i = 0; i < COUNT(elements); i++) {
        const char *path = elements[i].path, *slash = strchr(path, '/');
        apr_size_t own = slash ? (apr_size_t)(slash - path) : 0;
        if (own != length || strncmp(path, parent, own) != 0) {
            if (length)
                neo_buf_printf(l->out, "</%.*s>", (int)length, parent);
            if (own)
                open_parent(l, path, own);
            parent = path;
            length = own;
        }
        write_element(l, &elements[i]);
    }
    neo_buf_printf(l->out, "</%.*s>", (int)length, parent);
}

static listing begin_listing(neo_text property, neo_buf *out, apr_pool_t *pool)
{
    const char *error;
    const neo_json *parsed = neo_json_parse(property, pool, &error);
    listing l = {.property = parsed, .pool = pool, .out = out, .problems = neo_json_make_array(pool)};
    if (l.property)
        read_needs(&l);
    return l;
}

/* ---------------------------------------------------------------- the document */

void neo_vrsync_begin(neo_buf *out, const neo_vrsync_contact *contact, const char *published_at)
{
    neo_buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<ListingDataFeed xmlns=\"http://www.vivareal.com/schemas/1.0/VRSync\""
                      " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\""
                      " xsi:schemaLocation=\"http://www.vivareal.com/schemas/1.0/VRSync http://xml.vivareal.com/vrsync.xsd\">\n"
                      "<Header>");
    neo_xml_element(out, "Provider", NULL, contact->name);
    neo_xml_element(out, "Email", NULL, contact->email);
    neo_xml_element(out, "ContactName", NULL, contact->name);
    neo_xml_element(out, "PublishDate", NULL, published_at);
    neo_xml_element(out, "Telephone", NULL, contact->phone);
    neo_buf_puts(out, "</Header>\n<Listings>\n");
}

void neo_vrsync_end(neo_buf *out)
{
    neo_buf_puts(out, "</Listings>\n</ListingDataFeed>\n");
}

void neo_vrsync_add(neo_buf *out, neo_text property, const neo_vrsync_contact *contact, apr_pool_t *pool)
{
    apr_size_t before = out->len;
    listing l = begin_listing(property, out, pool);
    if (!l.property)
        return;
    neo_buf_puts(out, "<Listing>");
    write_elements(&l);
    neo_buf_puts(out, "<ContactInfo>");
    neo_xml_element(out, "Name", NULL, contact->name);
    neo_xml_element(out, "Email", NULL, contact->email);
    neo_xml_element(out, "Telephone", NULL, contact->phone);
    neo_buf_puts(out, "</ContactInfo></Listing>\n");
    if (neo_json_size(l.problems))
        out->ptr[out->len = before] = '\0';
}

void neo_vrsync_add_problems(neo_buf *out, neo_text property, apr_pool_t *pool)
{
    neo_buf unused;
    neo_buf_init(&unused, pool, 4096);
    listing l = begin_listing(property, &unused, pool);
    if (l.property)
        write_elements(&l);
    if (!neo_json_size(l.problems))
        return;
    static const char *const names[] = {"id", "code", "status"};
    neo_json *line = neo_json_make_object(pool);
    for (apr_size_t i = 0; i < COUNT(names); i++)
        if (find_value(&l, names[i]))
            neo_json_set_string(line, names[i], neo_json_string_at(l.property, names[i]), pool);
    neo_json_set(line, "problems", l.problems);
    neo_json_add(out, line);
    neo_buf_putc(out, '\n');
}

-- SPDX-License-Identifier: Apache-2.0
-- Sends the requests of a file in random order with wrk: wrk -s traffic.lua URL -- FILE RUN [statuses]
--
-- A line of the file is "METHOD PATH KEY" with an optional body. In bodies, # is replaced by twelve digits, which are unique if each
-- run has another RUN. If KEY ends in "+", each request has a new Idempotency-Key. "statuses" counts the responses of each status,
-- which slows the client.

local threads = {}

function setup(thread)
    thread:set("number", #threads)
    table.insert(threads, thread)
end

-- The parts of a text between the digits.
local function pieces(text)
    local list, from = {}, 1
    while true do
        local at = text:find("#", from, true)
        list[#list + 1] = text:sub(from, at and at - 1)
        if not at then return list end
        from = at + 1
    end
end

local requests, count, sent, run = {}, 0, 0, 0

local function add(line)
    local method, path, key, plus, body = line:match("^(%S+) (%S+) ([^ +]+)(%+?) ?(.*)$")
    local headers = {["X-API-Key"] = key}
    if body == "" then
        requests[#requests + 1] = wrk.format(method, path, headers)
        return
    end
    headers["Content-Type"] = "application/json"
    local text = wrk.format(method, path, headers, (body:gsub("#", "012345678901")))
    local head = text:match("^.-\r\n\r\n"):sub(1, -3)
    requests[#requests + 1] = {head = head, keyed = plus == "+", body = pieces(body)}
end

function init(args)
    for line in io.lines(args[1]) do add(line) end
    count, run = #requests, tonumber(args[2])
    math.randomseed(run * 100 + number)
    if args[3] ~= "statuses" then return end
    statuses = {}
    function response(status)
        local name = tostring(status)
        statuses[name] = (statuses[name] or 0) + 1
    end
end

function request()
    local chosen = requests[math.random(count)]
    if type(chosen) == "string" then return chosen end
    sent = sent + 1
    local digits = string.format("%04d%d%07d", run, number, sent)
    local body = table.concat(chosen.body, digits)
    if not chosen.keyed then return chosen.head .. "\r\n" .. body end
    local key = string.format("Idempotency-Key: %08x-0000-4000-8000-%s\r\n\r\n", math.random(0, 0x7fffffff), digits)
    return chosen.head .. key .. body
end

function done(summary, latency)
    local all, list = {}, {}
    for _, thread in ipairs(threads) do
        for status, n in pairs(thread:get("statuses") or {}) do all[status] = (all[status] or 0) + n end
    end
    for status, n in pairs(all) do list[#list + 1] = string.format('"%s": %d', status, n) end
    local e = summary.errors
    io.write(string.format('\nRESULT {"requests": %d, "seconds": %.6f, "refused": %d, "broken": %d, "median_us": %d, ' ..
        '"p99_us": %d, "statuses": {%s}}\n', summary.requests, summary.duration / 1e6, e.status,
        e.connect + e.read + e.write + e.timeout, latency:percentile(50), latency:percentile(99), table.concat(list, ", ")))
end

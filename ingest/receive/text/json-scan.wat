;; Reads a piece of a JSON text by the table of json.ts, which says what the states and the actions are.
;;
;; Inside of a string it looks at sixteen bytes at once. One by one, a processor would guess wrong where nearly each string ends,
;; which takes it longer than the bytes. `npm run generate` assembles it.
;;
;; Memory: 0x0000 the table; 0x4000 the piece, up to 16 KiB; 0x9000 the open brackets, a bit for each, the outermost first: 1 is an
;; object's. A piece can't open more than 16,384.
(module
  (memory (export "memory") 1)

  ;; Returns the depth << 6 | the state after the piece; -1 if no JSON text begins so.
  (func (export "read")
    (param $state i32) (param $depth i32) (param $length i32) (result i32)
    (local $at i32) (local $end i32) (local $next i32)
    (local $inner i32) (local $bytes v128) (local $stops i32)
    (local.set $at (i32.const 0x4000))
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (local.set $inner (call $innermost (local.get $depth)))
    (block $done
      (loop $each
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $next
          (i32.load8_u
            (i32.or
              (i32.shl (local.get $state) (i32.const 8))
              (i32.load8_u (local.get $at)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))

        ;; inString, inName: to the next byte that doesn't stand for itself.
        (if (i32.le_u (local.get $next) (i32.const 1))
          (then
            (local.set $state (local.get $next))
            (loop $string
              (local.set $bytes (v128.load (local.get $at)))
              (local.set $stops
                (i8x16.bitmask
                  (v128.or
                    (i8x16.lt_u (local.get $bytes) (i8x16.splat (i32.const 0x20)))
                    (v128.or
                      (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x22)))
                      (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x5c)))))))
              (if (local.get $stops)
                (then
                  ;; It may be behind the piece, which ends in the string then.
                  (local.set $at
                    (i32.add (local.get $at) (i32.ctz (local.get $stops))))
                  (br $each)))
              (local.set $at (i32.add (local.get $at) (i32.const 16)))
              (br_if $string (i32.lt_u (local.get $at) (local.get $end))))
            (br $each)))

        ;; Another state.
        (if (i32.lt_u (local.get $next) (i32.const 36))
          (then
            (local.set $state (local.get $next))
            (br $each)))

        ;; nextItem: a name in an object, a value in an array.
        (if (i32.eq (local.get $next) (i32.const 40))
          (then
            (if (i32.eq (local.get $inner) (i32.const 2))
              (then (return (i32.const -1))))
            (local.set $state
              (select (i32.const 5) (i32.const 2) (local.get $inner)))
            (br $each)))

        ;; openObject, openArray: firstName, firstElement.
        (if (i32.le_u (local.get $next) (i32.const 37))
          (then
            (local.set $inner (i32.eq (local.get $next) (i32.const 36)))
            (call $open (local.get $depth) (local.get $inner))
            (local.set $depth (i32.add (local.get $depth) (i32.const 1)))
            (local.set $state (i32.add (i32.const 3) (local.get $inner)))
            (br $each)))

        ;; closeObject, closeArray: afterValue.
        (if (i32.le_u (local.get $next) (i32.const 39))
          (then
            (if
              (i32.ne
                (local.get $inner)
                (i32.eq (local.get $next) (i32.const 38)))
              (then (return (i32.const -1))))
            (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
            (local.set $inner (call $innermost (local.get $depth)))
            (local.set $state (i32.const 7))
            (br $each)))

        (return (i32.const -1))))
    (i32.or (i32.shl (local.get $depth) (i32.const 6)) (local.get $state)))

  ;; Whether the innermost open bracket is an object's; 2 if none is open.
  (func $innermost (param $depth i32) (result i32)
    (if (i32.eqz (local.get $depth))
      (then (return (i32.const 2))))
    (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
    (i32.and
      (i32.const 1)
      (i32.shr_u
        (i32.load8_u offset=0x9000 (i32.shr_u (local.get $depth) (i32.const 3)))
        (i32.and (local.get $depth) (i32.const 7)))))

  ;; Notes a bracket behind so many others.
  (func $open (param $depth i32) (param $isObject i32)
    (local $byte i32) (local $bit i32)
    (local.set $byte (i32.shr_u (local.get $depth) (i32.const 3)))
    (local.set $bit (i32.and (local.get $depth) (i32.const 7)))
    (i32.store8 offset=0x9000
      (local.get $byte)
      (i32.or
        (i32.and
          (i32.load8_u offset=0x9000 (local.get $byte))
          (i32.xor
            (i32.const -1)
            (i32.shl (i32.const 1) (local.get $bit))))
        (i32.shl (local.get $isObject) (local.get $bit))))))

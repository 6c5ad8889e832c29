//! What was done between two looks at something that counts.

/// A struct of counts, or of such structs: the difference of two of its values has that of each field.
macro_rules! with_difference {
    (
        $(#[$on_struct:meta])*
        $sees:vis struct $name:ident { $($(#[$on_field:meta])* $sees_field:vis $field:ident: $of:ty,)* }
    ) => {
        $(#[$on_struct])*
        $sees struct $name { $($(#[$on_field])* $sees_field $field: $of,)* }

        impl std::ops::Sub for $name {
            type Output = $name;
            /// What was done since `before`.
            fn sub(self, before: $name) -> $name {
                $name { $($field: self.$field - before.$field,)* }
            }
        }
    };
}

pub(crate) use with_difference;

#[cfg(test)]
mod tests {
    with_difference! {
        #[derive(PartialEq, Debug)]
        struct Inner {
            count: u64,
        }
    }
    with_difference! {
        #[derive(PartialEq, Debug)]
        struct Outer {
            time: u64,
            inner: Inner,
        }
    }

    #[test]
    fn each_field_has_its_difference() {
        let at = |time, count| Outer { time, inner: Inner { count } };
        assert_eq!(at(9, 7) - at(4, 1), at(5, 6));
    }
}
